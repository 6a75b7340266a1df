"use strict";
// Explanations are title attributes and elements, so that they work without this script. This script shows them in a box of
// its own on hover, on focus and on tap, and hides the box on Escape.
(() => {
  const tip = document.getElementById("tip");
  let shown = null;
  function hide() {
    if (shown) shown.removeAttribute("aria-describedby");
    shown = null;
    tip.hidden = true;
  }
  function put(x, below, above) {
    const w = tip.offsetWidth, h = tip.offsetHeight;
    tip.style.left = Math.max(6, Math.min(x, document.documentElement.clientWidth - w - 6)) + "px";
    tip.style.top = (below + h + 6 > innerHeight ? Math.max(6, above - h) : below) + "px";
  }
  function show(e) {
    if (shown !== e) hide();
    shown = e;
    tip.textContent = e.dataset.tip;
    tip.hidden = false;
    e.setAttribute("aria-describedby", "tip");
  }
  function showUnder(e) {
    const at = e.getBoundingClientRect();
    show(e);
    put(at.left, at.bottom + 6, at.top - 6);
  }
  const explained = e => e instanceof Element ? e.closest("[data-tip]") : null;

  function take() {
    for (const t of document.querySelectorAll("svg title")) {
      t.parentElement.dataset.tip = t.textContent;
      t.remove();
    }
    for (const e of document.querySelectorAll("[title]")) {
      e.dataset.tip = e.title;
      e.removeAttribute("title");
    }
  }
  take();
  addEventListener("shown", take); // sent by a page that has replaced its content
  addEventListener("pointermove", ev => {
    if (ev.pointerType === "touch") return;
    const e = explained(ev.target);
    if (!e || e.closest(".moving")) return hide();
    show(e);
    put(ev.clientX + 14, ev.clientY + 18, ev.clientY - 12);
  });
  document.documentElement.addEventListener("pointerleave", ev => { if (ev.pointerType !== "touch") hide(); });
  addEventListener("click", ev => {
    const e = explained(ev.target);
    if (!e) return hide();
    if (e.closest("svg") && ev.pointerType !== "touch") return; // hovering has already shown it
    showUnder(e);
  });
  addEventListener("focusin", ev => { if (ev.target.matches("[data-tip]:focus-visible")) showUnder(ev.target); });
  addEventListener("focusout", hide);
  // Getting the focus may have scrolled the element into view, so its explanation stays open and moves along.
  const follow = () => { if (shown && shown.matches(":focus-visible")) showUnder(shown); else hide(); };
  addEventListener("scroll", follow, {capture: true, passive: true});
  addEventListener("keydown", ev => { if (ev.key === "Escape") hide(); });

  // If the clipboard cannot be used, the command is selected so that the reader can copy it.
  addEventListener("click", ev => {
    const b = ev.target instanceof Element && ev.target.closest("button[data-do=copy]");
    if (!b) return;
    const code = b.parentElement.querySelector("code");
    const select = () => {
      getSelection().selectAllChildren(code);
      b.textContent = "selected";
    };
    if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(() => { b.textContent = "copied"; }, select);
    else select();
  });
})();
