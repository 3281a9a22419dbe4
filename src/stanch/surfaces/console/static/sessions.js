// What a session's page does by itself: words as a model writes them, what was open stays open, and the end in sight.
"use strict";
(() => {
  const $ = (selector) => document.querySelector(selector);
  let draft = "";
  let over = 0; // so much of the draft is part of a message that is stored by now
  let opened = [];
  let height = 0;
  let follows = false;

  function showDraft() {
    const place = $("#draft");
    if (!place) return;
    place.hidden = !draft;
    place.querySelector(".text").textContent = draft;
  }

  const tall = () => document.documentElement.scrollHeight;
  const nearEnd = () => window.innerHeight + window.scrollY >= tall() - 160;
  const toEnd = () => window.scrollTo({ top: tall() });
  // Nothing moves under the hands of somebody who may be about to answer.
  const mayMove = () => !$("[data-card]");

  document.addEventListener("words", (event) => {
    const stays = nearEnd() && mayMove();
    draft += JSON.parse(event.detail.data);
    showDraft();
    if (stays) toEnd();
  });

  document.addEventListener("written", () => { over = draft.length; });

  document.addEventListener("htmx:before:swap", () => {
    if (!$("#timeline")) return;
    opened = [...document.querySelectorAll("#timeline details[open][id]")].map((one) => one.id);
    follows = nearEnd() && mayMove();
    height = tall();
  });

  document.addEventListener("htmx:after:swap", () => {
    if (!$("#timeline")) return;
    for (const id of opened) {
      const found = document.getElementById(id);
      if (found && !found.open) found.open = true;
    }
    draft = draft.slice(over);
    over = 0;
    showDraft();
    if (follows && mayMove() && tall() !== height) toEnd();
  });

  // What a subagent did is asked for once somebody wants to see it, and again whenever the page around it changes.
  document.addEventListener("toggle", (event) => {
    const inside = event.target.open && event.target.querySelector(":scope > .inside");
    if (inside) htmx.trigger(inside, "opened");
  }, true);

  document.addEventListener("keydown", (event) => {
    const field = event.target.closest("[data-send]");
    if (field && event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing) {
      event.preventDefault();
      field.form.requestSubmit();
    }
  });

  // Somebody who has sent something goes on writing there.
  document.addEventListener("htmx:after:swap", (event) => {
    const from = event.detail?.ctx?.sourceElement;
    if (from?.id === "speak") $("#text")?.focus();
  });
})();
