// What the page of tiers does by itself: folders that are open stay so where another tier is chosen.
"use strict";
(() => {
  const MOST = 40;

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-keeps]");
    if (!link) return;
    const url = new URL(link.href);
    url.searchParams.delete("open");
    const open = [...document.querySelectorAll("details[data-folder][open]")].slice(0, MOST);
    for (const one of open) url.searchParams.append("open", one.dataset.folder);
    link.href = url.pathname + url.search + url.hash;
  }, true);
})();
