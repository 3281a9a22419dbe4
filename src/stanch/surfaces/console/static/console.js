// What the console's pages do by themselves: the keyboard, the moment in which nothing can be approved by accident,
// one answer for one form, and the times. Everything else is links, forms and htmx.
"use strict";
(() => {
  const CALM = 600; // milliseconds in which something new cannot be approved
  let calmAt = performance.now() + CALM;
  let sending = 0;
  let waitingRefresh = false;

  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const cards = () => all("[data-card]");

  // --- nothing is approved by accident -------------------------------------------------------------------------

  function unsettle() {
    calmAt = performance.now() + CALM;
    document.body.classList.add("unsettled");
    setTimeout(() => {
      if (performance.now() >= calmAt - 20) document.body.classList.remove("unsettled");
    }, CALM);
  }

  // Seen as it happens, and not when htmx says that it is done: whatever comes or goes here moves what is below.
  document.addEventListener("DOMContentLoaded", () => {
    for (const list of [$("#cards"), $("#timeline"), $("#said"), $("#asks")]) {
      if (list) new MutationObserver(seeChanges).observe(list, { childList: true, subtree: list.id === "timeline" });
    }
  });

  function seeChanges(changes) {
    const moved = changes.flatMap((change) => [...change.addedNodes, ...change.removedNodes]);
    if (moved.some((node) => node.nodeType === Node.ELEMENT_NODE)) unsettle();
  }

  function isCalm() {
    return performance.now() >= calmAt;
  }

  function drop(event) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  // Whatever moves under the pointer was not aimed at.
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-arms]") && !isCalm()) drop(event);
  }, true);

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.submitter?.matches("[data-arms]") && !isCalm()) return drop(event);
    if (form.dataset.confirm && !window.confirm(form.dataset.confirm)) return drop(event);
    if (form.dataset.sent) return drop(event);
    form.dataset.sent = "yes";
    // After the form's values were taken: a disabled button's value is not sent.
    setTimeout(() => disarm(form, true));
  }, true);

  function disarm(form, off) {
    const around = form.closest("[data-card]") ?? form;
    // A button that is disabled loses the focus; the card keeps it.
    if (off && around !== form && around.contains(document.activeElement)) around.focus({ preventScroll: true });
    for (const button of all("button", around)) button.disabled = off;
    around.classList.toggle("sent", off);
  }

  // A page that comes back out of the browser's memory can be used again.
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });

  // --- requests ------------------------------------------------------------------------------------------------

  const isRefresh = (ctx) => ctx.sourceElement.id === "cards";

  document.addEventListener("htmx:config:request", (event) => {
    const { ctx } = event.detail;
    if (isRefresh(ctx)) {
      if (sending) {
        waitingRefresh = true;
        event.preventDefault();
        return;
      }
      const url = new URL(ctx.request.action, location.origin);
      for (const card of cards()) url.searchParams.append("shown", card.dataset.card);
      ctx.request.action = url.pathname + url.search;
    } else if (ctx.request.method === "POST") {
      sending += 1;
      ctx.counted = true;
    }
  });

  document.addEventListener("htmx:finally:request", (event) => {
    const { ctx } = event.detail;
    if (!ctx.counted) return;
    sending = Math.max(0, sending - 1);
    const form = ctx.sourceElement;
    if (form.isConnected) {
      delete form.dataset.sent;
      disarm(form, false);
    }
    if (!sending && waitingRefresh) {
      waitingRefresh = false;
      htmx.trigger("#cards", "refresh");
    }
  });

  let shownBefore = "";
  let focusedBefore = -1;

  document.addEventListener("htmx:before:swap", () => {
    focusedBefore = cards().findIndex((card) => card.contains(document.activeElement));
  });

  document.addEventListener("htmx:after:swap", () => {
    const seen = new Set();
    for (const line of all("#said > li[id]")) {
      if (seen.has(line.id)) line.remove();
      seen.add(line.id);
    }
    for (const line of all("#said > li").slice(6)) line.remove();
    lookAtCards();
    tellTimes();
    const wrong = $("[aria-invalid]:not([data-told])");
    if (wrong) {
      wrong.dataset.told = "yes";
      wrong.focus();
    }
  });

  function lookAtCards() {
    if (!$("#cards")) return;
    const shown = cards().map((card) => card.dataset.card).join();
    if (shown !== shownBefore) {
      shownBefore = shown;
      const lost = document.activeElement === document.body || document.activeElement === null;
      if (lost && focusedBefore >= 0) cards()[Math.min(focusedBefore, cards().length - 1)]?.focus();
    }
    const total = Number($("#total")?.dataset.total ?? 0);
    document.title = (total ? `(${total}) ` : "") + "Inbox · Stanch";
    for (const badge of all("[data-count]")) {
      badge.textContent = total || "";
      badge.hidden = !total;
    }
  }

  // --- live ----------------------------------------------------------------------------------------------------

  function isLive(yes) {
    const live = $("#live");
    if (!live) return;
    live.dataset.live = yes ? "yes" : "no";
    live.textContent = yes ? "live" : "connection lost, trying again";
  }

  document.addEventListener("htmx:sse:after:connection", () => isLive(true));
  document.addEventListener("htmx:sse:close", () => isLive(false));
  document.addEventListener("htmx:sse:error", (event) => {
    if (event.detail.status === 401) location.assign("/login");
    isLive(false);
  });

  // --- keyboard ------------------------------------------------------------------------------------------------

  function move(step) {
    const found = cards();
    const at = found.findIndex((card) => card.contains(document.activeElement));
    const next = at < 0 ? (step > 0 ? 0 : found.length - 1) : Math.min(Math.max(at + step, 0), found.length - 1);
    found[next]?.focus();
    found[next]?.scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const field = event.target.closest("input, textarea, select");
    if (event.key === "Escape") {
      const open = event.target.closest("details[open]");
      if (open) {
        open.open = false;
        open.closest("[data-card]")?.focus();
      }
      return;
    }
    // Of several calls at once, no key in a field is an answer.
    if (event.key === "Enter" && field?.closest("form.plan")) return drop(event);
    if (field) return;
    // A key that is held down does not repeat into an answer.
    if (event.repeat && event.key === "Enter" && event.target.closest("[data-arms]")) return drop(event);
    const card = event.target.closest("[data-card]");
    switch (event.key) {
      case "j": move(1); break;
      case "k": move(-1); break;
      case "a": card && $("[data-approve]", card)?.focus(); break;
      case "r": card && openPart(card, "[data-reject]"); break;
      case "e": card && openPart(card, "[data-edit]"); break;
      default: return;
    }
    event.preventDefault();
  });

  function openPart(card, which) {
    const part = $(which, card);
    if (!part) return;
    part.open = true;
    $("input:not([type=hidden]), textarea", part)?.focus();
  }

  // Only one of a card's parts is open at a time, so that its buttons stay in sight.
  document.addEventListener("toggle", (event) => {
    const part = event.target;
    if (!part.open || !part.matches("[data-part]")) return;
    for (const other of all("[data-part][open]", part.closest("[data-card]"))) if (other !== part) other.open = false;
    $("form, p", part)?.scrollIntoView({ block: "nearest" });
  }, true);

  // --- times ---------------------------------------------------------------------------------------------------

  function inWords(seconds) {
    const size = Math.abs(seconds);
    const said = size < 60 ? `${Math.round(size)} s` : size < 5400 ? `${Math.round(size / 60)} min`
      : size < 129600 ? `${Math.round(size / 3600)} h` : `${Math.round(size / 86400)} days`;
    return seconds < 0 ? `in ${said}` : `${said} ago`;
  }

  function tellTimes() {
    for (const time of all("time[datetime]")) {
      const seconds = (Date.now() - Date.parse(time.dateTime)) / 1000;
      if (Math.abs(seconds) < 8640000) time.textContent = seconds >= 0 && seconds < 5 ? "just now" : inWords(seconds);
    }
  }

  setInterval(tellTimes, 10000);
  document.addEventListener("DOMContentLoaded", () => {
    unsettle();
    tellTimes();
    lookAtCards();
    // Where the pages' names are wider than the screen, that of this page is in sight.
    const here = $(".top nav [aria-current]");
    if (here) here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.offsetLeft - 40;
  });
})();
