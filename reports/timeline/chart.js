"use strict";
// timeline makes the picture of a page interactive: it fits the picture to the page's width, lets the reader zoom and move
// it, and links the events of the witness to their lines below. A page that shows several runs in turn passes the view of
// the previous picture, may pass its knots so that the scale stays the same while something is dragged, and passes a
// signal that ends this picture.
function timeline({view, knots: kept, signal} = {}) {
  const svg = document.getElementById("chart"), plot = svg.parentElement, knots = kept || JSON.parse(svg.dataset.knots);
  const left = +svg.dataset.left, margin = 16, narrowest = 560, tickRoom = 64;
  const first = knots[0][0], last = knots[knots.length - 1][0];
  let right = +svg.dataset.right, {zoom, offset, linear} = view || {zoom: 1, offset: 0, linear: svg.dataset.linear === "true"};

  // place maps true time to 0..1 over the whole run. x maps it to a position on the page at the current zoom.
  function place(t) {
    if (linear) return Math.min(1, Math.max(0, (t - first) / (last - first)));
    let lo = 0, hi = knots.length - 1;
    if (t <= first) return 0;
    if (t >= last) return 1;
    while (hi - lo > 1) {
      const mid = (lo + hi) >> 1;
      if (knots[mid][0] <= t) lo = mid; else hi = mid;
    }
    const a = knots[lo], b = knots[hi];
    return a[1] + (b[1] - a[1]) * (t - a[0]) / (b[0] - a[0]);
  }
  // The part of the plot in view. A page narrower than the plot scrolls it, but keeps the names at the left in place.
  const viewLeft = () => left + plot.scrollLeft, viewRight = () => Math.min(right, plot.scrollLeft + plot.clientWidth);
  const x = t => left + (place(t) - offset) * zoom * (right - left);
  // time maps a position on the page to true time. Beyond the ends of the run it continues with the scale at that end.
  function time(px) {
    const at = (px - left) / (right - left) / zoom + offset;
    if (linear) return first + at * (last - first);
    let i = 1;
    while (i < knots.length - 1 && knots[i][1] < at) i++;
    const a = knots[i - 1], b = knots[i];
    return a[0] + (at - a[1]) / Math.max(b[1] - a[1], 1e-9) * (b[0] - a[0]);
  }

  const all = selector => [...svg.querySelectorAll(selector)].map(e => ({
    e, a: +e.dataset.a, b: +e.dataset.b, y: e.dataset.y, rect: e.querySelector(":scope > rect"), text: e.querySelector(":scope > text"),
  }));
  const boxes = all(".box"), marks = all(".mark"), rays = [...all(".ray"), ...all(".message > line")], floats = all(".float"), pins = all(".pin"),
    ticks = all(".tick"), breaks = all(".break");
  for (const f of [...boxes, ...floats]) f.wide = 0;
  function measure(o, e) { return o.wide || (o.wide = e.getComputedTextLength()); }

  const names = [...svg.querySelectorAll(".name")], clip = document.getElementById("clip"), clipX = +clip.getAttribute("x");

  function draw() {
    const lo = viewLeft(), hi = viewRight();
    for (const e of names) e.setAttribute("transform", `translate(${plot.scrollLeft},0)`);
    clip.setAttribute("x", clipX + plot.scrollLeft);
    for (const o of boxes) {
      const p = x(o.a), q = Math.max(x(o.b), p + 1.5);
      const p1 = Math.max(p, left - 4000), q1 = Math.min(q, right + 4000);
      o.rect.setAttribute("x", p1);
      o.rect.setAttribute("width", Math.max(q1 - p1, 0));
      if (o.text) {
        const from = Math.max(p, lo), room = Math.min(q, hi) - from;
        o.text.setAttribute("x", from);
        o.text.classList.toggle("off", false);
        o.text.classList.toggle("off", room < measure(o, o.text) + 10);
      }
    }
    for (const o of marks) o.e.setAttribute("transform", `translate(${x(o.a)},${o.y})`);
    for (const o of rays) { o.e.setAttribute("x1", x(o.a)); o.e.setAttribute("x2", x(o.b)); }
    for (const o of pins) o.e.setAttribute("transform", `translate(${x(o.a)},0)`);
    for (const o of floats) {
      const p = x(o.a), q = x(o.b);
      o.e.classList.toggle("off", false);
      o.e.setAttribute("x", Math.max(lo + 4, Math.min(p + 6, hi - measure(o, o.e) - 4)));
      o.e.classList.toggle("off", q < lo || p > hi);
    }
    drawAxis();
    spaceLabels();
  }

  // Ticks and labels of marks are shown only if they have room. The first in the order of the page takes precedence.
  function drawAxis() {
    const taken = [];
    for (const o of ticks) {
      const p = x(o.a), label = Math.max(left + tickRoom / 2 - 12, Math.min(p, right - tickRoom / 2 + 12));
      const free = p >= left - 1 && p <= right + 1 && !taken.some(t => Math.abs(t - label) < tickRoom);
      if (free) taken.push(label);
      o.e.classList.toggle("off", !free);
      o.e.setAttribute("transform", `translate(${p},0)`);
      o.text.setAttribute("x", label - p);
    }
    for (const o of breaks) {
      const p = x(o.a), q = x(o.b);
      o.e.classList.toggle("off", linear || q - p < 20 || q - p > 0.6 * (right - left));
      o.e.setAttribute("transform", `translate(${(p + q) / 2},0)`);
      o.text.classList.toggle("off", q - p < 6.2 * o.text.textContent.length);
    }
  }
  function spaceLabels() {
    let end = -1e9;
    for (const o of marks) {
      if (!o.text || !o.e.classList.contains("effect")) continue;
      const p = x(o.a), half = 3.2 * o.text.textContent.length;
      if (p < left || p > right) continue;
      const free = p - half > end + 4;
      if (free) end = p + half;
      o.text.classList.toggle("off", !free);
      o.text.setAttribute("x", Math.max(left + half, Math.min(p, right - half)) - p);
    }
  }

  function keep() {
    zoom = Math.min(Math.max(zoom, 1), 20000);
    offset = Math.min(Math.max(offset, 0), 1 - 1 / zoom);
    draw();
  }
  function zoomAt(px, by) {
    const at = offset + (px - left) / (right - left) / zoom;
    zoom = Math.min(Math.max(zoom * by, 1), 20000);
    offset = at - (px - left) / (right - left) / zoom;
    keep();
  }
  // show moves and zooms so that the given instants are in view, with some events around them.
  function show(times, around) {
    const at = t => { let i = knots.findIndex(k => k[0] >= t); return i < 0 ? knots.length - 1 : i; };
    const lo = knots[Math.max(0, at(Math.min(...times)) - around)][0];
    const hi = knots[Math.min(knots.length - 1, at(Math.max(...times)) + around)][0];
    const from = place(lo), to = place(hi);
    zoom = Math.min(1 / Math.max(to - from, 1e-4), 20000);
    offset = from;
    keep();
  }
  function fitWidth() {
    const width = Math.max(plot.clientWidth, left + narrowest + margin);
    right = width - margin;
    svg.setAttribute("width", width);
    clip.setAttribute("width", right - left + 20);
    for (const r of svg.querySelectorAll(".ground")) r.setAttribute("width", width);
    keep();
  }

  // move moves the view to the right by a number of pixels.
  function move(px) {
    const before = plot.scrollLeft;
    plot.scrollLeft += px;
    offset += (px - (plot.scrollLeft - before)) / (right - left) / zoom;
    keep();
  }

  // The wheel scrolls the page, except sideways or with Ctrl. Pinching a touch pad counts as the wheel with Ctrl.
  svg.addEventListener("wheel", ev => {
    const sideways = ev.shiftKey || Math.abs(ev.deltaX) > Math.abs(ev.deltaY);
    if (ev.ctrlKey || ev.metaKey) zoomAt(ev.clientX - svg.getBoundingClientRect().left, Math.exp(-ev.deltaY * 0.002));
    else if (sideways && zoom > 1) move(ev.deltaX || ev.deltaY);
    else return;
    ev.preventDefault();
  }, {passive: false});
  plot.addEventListener("scroll", draw);
  let grip = null;
  svg.addEventListener("pointerdown", ev => { if (ev.isPrimary && ev.button === 0) grip = {from: ev.clientX, px: ev.clientX}; });
  addEventListener("pointermove", ev => {
    if (!grip || !ev.isPrimary) return;
    if (Math.abs(ev.clientX - grip.from) > 3) svg.classList.add("moving");
    move(grip.px - ev.clientX);
    grip.px = ev.clientX;
  }, {signal});
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { grip = null; svg.classList.remove("moving"); }, {signal});

  const middle = () => (viewLeft() + viewRight()) / 2;
  const acts = {
    in: () => zoomAt(middle(), 1.6), out: () => zoomAt(middle(), 1 / 1.6),
    fit: () => { zoom = 1; offset = 0; keep(); },
    witness: () => show(pins.map(p => p.a), 8),
    true: b => {
      linear = !linear;
      b.setAttribute("aria-pressed", linear);
      keep();
    },
  };
  for (const b of svg.closest(".card").querySelectorAll("button[data-do]")) {
    const act = acts[b.dataset.do];
    if (act) b.addEventListener("click", () => act(b));
  }
  const step = () => (viewRight() - viewLeft()) / 8;
  const keys = {
    "+": acts.in, "=": acts.in, "-": acts.out, "0": acts.fit, ArrowLeft: () => move(-step()), ArrowRight: () => move(step()),
    Home: () => move(-1e9), End: () => move(1e9),
  };
  plot.addEventListener("keydown", ev => {
    if (ev.ctrlKey || ev.metaKey || ev.altKey || !keys[ev.key]) return;
    keys[ev.key]();
    ev.preventDefault();
  });

  // An event of the witness and its line in the explanation are highlighted together.
  const tied = [...document.querySelectorAll("[data-ev]")];
  function light(ev, on) {
    for (const e of tied) if (e.dataset.ev.split(" ").includes(ev)) e.classList.toggle("hot", on);
  }
  for (const e of document.querySelectorAll(".witness li, .pin")) {
    e.addEventListener("pointerenter", () => light(e.dataset.ev, true));
    e.addEventListener("pointerleave", () => light(e.dataset.ev, false));
    e.addEventListener("focus", () => light(e.dataset.ev, true));
    e.addEventListener("blur", () => light(e.dataset.ev, false));
  }
  const lines = [...document.querySelectorAll(".witness li[data-ev]")];
  function press(e, act) {
    e.addEventListener("click", act);
    e.addEventListener("keydown", ev => {
      if (ev.key !== "Enter" && ev.key !== " ") return;
      act();
      ev.preventDefault();
    });
  }
  for (const li of lines) press(li, () => {
    const pin = pins.find(p => p.e.dataset.ev === li.dataset.ev);
    if (!pin) return;
    if (zoom < 4) zoom = 4;
    offset = place(pin.a) - 0.5 / zoom;
    keep();
    plot.scrollLeft = x(pin.a) - (left + plot.clientWidth) / 2;
    svg.scrollIntoView({block: "nearest"});
  });
  for (const pin of pins) press(pin.e, () => {
    const li = lines.find(l => l.dataset.ev === pin.e.dataset.ev);
    if (li) li.focus(); // brings it into view
  });

  addEventListener("resize", fitWidth, {signal});
  fitWidth();
  if (view) plot.scrollLeft = view.scroll;
  if (!view && pins.length > 0 && knots.length > 250) show(pins.map(p => p.a), 40); // a long run first shows its witness
  return {time, x, knots, view: () => ({zoom, offset, linear, scroll: plot.scrollLeft})};
}

