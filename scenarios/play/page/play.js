// Script of the playground page. The state is sent to the simulator, and a link contains it. Each gesture of the reader
// is sent as an edit of the state, and the answer is shown. The script itself computes only positions on the page.
{
  const byId = id => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const {above, below} = {above: byId("above"), below: byId("below")};
  let state = data.start, shown = null, picture = null, life = null, messages = false;
  const past = [], future = [];

  // ---- asking ----
  // A line is a connection to the simulator. It answers one request at a time, so answers come in order. Long tasks use
  // a second line.
  function serverLine() {
    return {
      async ask(request, progress, signal) {
        const answer = await fetch("ask", {method: "POST", body: JSON.stringify(request), signal, headers: {"Content-Type": "application/json"}});
        if (!answer.ok) throw new Error(await answer.text());
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        for (let text = ""; ;) {
          const {value, done} = await reader.read();
          if (done) throw new Error("the server ended");
          text += value;
          for (let end; (end = text.indexOf("\n")) >= 0; text = text.slice(end + 1)) {
            const line = JSON.parse(text.slice(0, end));
            if (line.answer) return line.answer;
            progress(line.progress);
          }
        }
      },
    };
  }
  function workerLine() {
    let worker = null, asked = 0;
    const waiting = new Map(); // pending requests by number
    function end(err) {
      worker.terminate();
      worker = null;
      for (const w of waiting.values()) w.reject(err);
      waiting.clear();
    }
    function start() {
      if (location.protocol === "file:") throw new Error("A browser runs the simulator only from a web server: serve this folder with one, such as python3 -m http.server, and open the address that it names; or run fencepost play.");
      worker = new Worker("worker.js");
      worker.onmessage = ({data: line}) => {
        const w = waiting.get(line.number);
        if (line.progress) return w.progress(line.progress);
        waiting.delete(line.number);
        if (line.answer) w.resolve(line.answer);
        else w.reject(new Error(line.failed));
      };
      worker.onerror = ev => end(new Error(ev.message || "the simulator cannot be loaded"));
    }
    return {
      ask(request, progress, signal) {
        if (!worker) start();
        const number = ++asked;
        return new Promise((resolve, reject) => {
          waiting.set(number, {resolve, reject, progress});
          if (signal) signal.addEventListener("abort", () => { if (waiting.has(number)) end(new DOMException("stopped", "AbortError")); });
          worker.postMessage({number, request: JSON.stringify(request)});
        });
      },
    };
  }
  const newLine = data.served ? serverLine : workerLine;
  const shows = newLine(), works = newLine();

  // show requests the state after an edit, and shows it. Edits are made one after another, each on the result of the
  // one before. Rough edits follow the pointer; a new one replaces a rough one that still waits. from is the state to
  // edit, if it is not the one shown. edit may be a function, which is called when its turn comes.
  // If reports take long, a rough one is shown first, with the verdict but without the explanation.
  let busy = false, took = 0;
  const wishes = [], patience = 50; // ms
  function show(from, edit, {rough = false, keep = true, done} = {}) {
    if (wishes.length > 0 && wishes[wishes.length - 1].rough) wishes.pop();
    wishes.push({from, edit, rough, keep, done});
    if (!busy) next();
  }
  // then calls act once everything requested before has been answered.
  function then(act) {
    wishes.push({act});
    if (!busy) next();
  }
  const say = (where, says) => then(() => complain({in: where, says}));
  async function next() {
    above.ariaBusy = busy = true;
    for (let wish; (wish = wishes.shift());) {
      if (wish.act) {
        wish.act();
        continue;
      }
      const {from, rough, keep, done} = wish, before = from || state, edit = typeof wish.edit === "function" ? wish.edit() : wish.edit;
      try {
        const began = performance.now();
        const draws = messages && (!rough || grip !== null && grip.does === "late"); // a thousand lines would lag behind a pointer
        const ask = rough => shows.ask({do: "show", ...before, edit, rough, messages: draws}, () => {});
        if (!rough && took > patience) take(await ask(true), true, keep);
        take(await ask(rough), rough, keep);
        if (!rough) took = performance.now() - began;
        dispatchEvent(new CustomEvent("answered", {detail: performance.now() - began}));
        if (done) done();
      } catch (err) {
        if (!shown) above.replaceChildren(); // it said that the simulator is starting
        byId("problem").textContent = data.served ? "The server cannot be reached (" + err.message + "): start fencepost play again. This page keeps its state; its link works there, too." : err.message;
      }
    }
    above.ariaBusy = busy = false;
  }
  // take shows an answer. A problem is shown where it belongs, and everything else stays unchanged.
  function take(answer, rough, keep) {
    for (const p of document.querySelectorAll("p.bad")) p.textContent = "";
    byId("plan").ariaInvalid = byId("text").ariaInvalid = "false";
    if (answer.problem) return complain(answer.problem);
    const next = {text: answer.shown.text, seed: answer.shown.seed};
    if (!rough) {
      if (keep && shown && (next.text !== state.text || next.seed !== state.seed)) {
        past.push(state);
        future.length = 0;
      }
      state = next;
      saveLink();
    }
    shown = answer.shown;
    draw(rough);
  }
  function complain(problem) {
    let place = byId("problem");
    if (problem.in === "faults") { place = byId("plan-problem"); byId("plan").ariaInvalid = String(problem.line > 0); }
    if (problem.in === "text") { place = byId("text-problem"); byId("text").ariaInvalid = "true"; place.closest("details").open = true; }
    const row = rows.get(problem.in);
    if (row) place = row.problem;
    place.textContent = problem.says;
  }

  // ---- showing ----
  function draw(rough) {
    const parts = document.createElement("template");
    parts.innerHTML = shown.report;
    const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.fault : null;
    const view = picture ? picture.view() : undefined;
    const [header, chart, ...rest] = parts.content.children;
    above.replaceChildren(header, chart);
    below.replaceChildren(...rest);
    dispatchEvent(new Event("shown"));
    if (life) life.abort();
    life = new AbortController();
    const same = picture && shown.name === picture.name;
    picture = timeline({view: same ? view : undefined, knots: grip ? grip.knots : undefined, signal: life.signal});
    picture.name = shown.name;
    hold();
    if (focused && above.contains(document.activeElement) === false) {
      const again = above.querySelector(`.fault[data-fault="${focused}"]`);
      if (again && document.activeElement === document.body) again.focus({preventScroll: true});
    }
    const verdict = byId("verdict"), words = shown.verdict + ": " + shown.headline;
    verdict.className = shown.tone;
    verdict.dataset.is = shown.verdict;
    verdict.dataset.at ||= performance.now();
    if (verdict.textContent !== words) verdict.textContent = words;
    document.title = shown.name + ": " + shown.verdict;
    drawPlan();
    drawPalette();
    drawSettings();
    if (rough) return;
    byId("undo").disabled = past.length === 0;
    byId("redo").disabled = future.length === 0;
    if (document.activeElement !== byId("seed")) byId("seed").value = shown.seed;
    if (document.activeElement !== byId("text")) byId("text").value = shown.text;
    const pick = byId("scenario");
    if (pick.value !== shown.name) pick.value = [...pick.options].some(o => o.value === shown.name) ? shown.name : "";
    judgeTour();
  }
  function drawPlan() {
    const plan = byId("plan"), lines = shown.faults.map(f => f.line);
    if (document.activeElement !== plan && !typing) {
      plan.value = lines.join("\n");
      plan.rows = Math.max(2, lines.length + 1);
    }
    byId("idle").replaceChildren(...shown.faults.filter(f => f.idle).map(f => Object.assign(document.createElement("li"), {textContent: f.line + ": " + f.idle})));
    byId("late").hidden = !messages;
    if (shown.messages) {
      const at = byId("message").value;
      byId("message").replaceChildren(...shown.messages.map((m, i) => new Option(seconds(m.from) + "  " + m.words, i)));
      if (at && +at < shown.messages.length) byId("message").value = at;
    }
  }
  const seconds = ns => (ns / 1e9).toFixed(3) + " s";

  // ---- faults by hand ----
  // hold connects the boxes of the picture with the faults of the plan.
  function hold() {
    const svg = byId("chart");
    shown.faults.forEach((f, i) => {
      if (f.event < 0) return;
      for (const box of svg.querySelectorAll(".box.fault, .box.pause, .box.down, .box.drift")) {
        if (box.dataset.ev.split(" ")[0] === String(f.event)) tie(box, f, i + 1);
      }
      for (const label of svg.querySelectorAll(".fault-label")) {
        if (label.textContent === f.line && !label.dataset.fault && +label.dataset.a === f.from) tie(label, f, i + 1);
      }
    });
  }
  function tie(e, f, number) {
    e.dataset.fault = number;
    if (!e.classList.contains("fault")) return;
    e.setAttribute("tabindex", "0");
    e.setAttribute("role", "slider");
    e.setAttribute("aria-label", f.line);
    e.setAttribute("aria-valuenow", Math.round(f.from / 1e6));
    e.setAttribute("aria-valuetext", seconds(f.from) + " to " + seconds(f.to) + (f.ends || f.size ? "; arrows move it, brackets pull its end, Delete takes it away" : "; arrows move it, Delete takes it away"));
  }
  // fine rounds a time, in ns, to a precision that a pixel can express.
  function fine(t, px) {
    const pixel = Math.abs(picture.time(px + 1) - picture.time(px)), ten = 10 ** Math.floor(Math.log10(Math.max(pixel, 1000)));
    const step = [1, 2, 5, 10].map(n => n * ten).find(n => n >= pixel);
    return Math.max(0, Math.round(Math.round(t / step) * step));
  }
  let grip = null;
  const xOn = ev => ev.clientX - byId("chart").getBoundingClientRect().left;
  const edgeRoom = ev => ev.pointerType === "mouse" ? 8 : 18;
  function gripAt(ev) {
    const e = ev.target instanceof Element ? ev.target.closest("[data-fault], [data-message]") : null;
    if (!e || !picture) return null;
    if (e.dataset.message) return {does: "late", sent: +e.dataset.message, from: 0};
    const f = shown.faults[e.dataset.fault - 1], px = xOn(ev), left = picture.x(f.from), right = picture.x(f.to);
    const near = Math.min(edgeRoom(ev), Math.max(2, (right - left) / 3));
    let does = f.moves ? "move" : "";
    if ((f.ends || f.size) && Math.abs(px - right) <= near) does = "end";
    else if (f.ends && f.moves && f.to > f.from && Math.abs(px - left) <= near) does = "begin";
    else if (!f.moves && f.size) does = "end";
    return does ? {does, fault: +e.dataset.fault, f} : null;
  }
  above.addEventListener("pointermove", ev => {
    if (grip) return;
    const found = gripAt(ev), e = ev.target instanceof Element && ev.target.closest("[data-fault]");
    if (e) e.classList.toggle("pulls", found !== null && found.does !== "move");
  });
  above.addEventListener("pointerdown", ev => {
    if (!ev.isPrimary || ev.button !== 0) return;
    if (armed && ev.target instanceof Element && ev.target.closest("#chart")) {
      ev.stopPropagation();
      return drop(armed, ev);
    }
    const found = gripAt(ev);
    if (!found) return;
    ev.stopPropagation();
    above.setPointerCapture(ev.pointerId);
    grip = {...found, at: picture.time(xOn(ev)), knots: picture.knots, base: state, moved: false, px: ev.clientX};
  }, true);
  above.addEventListener("pointermove", ev => {
    if (!grip || !ev.isPrimary) return;
    if (!grip.moved && Math.abs(ev.clientX - grip.px) < 3) return;
    grip.moved = true;
    document.body.classList.add("dragging");
    grip.edit = editOf(grip, xOn(ev));
    show(grip.base, grip.edit, {rough: true});
  });
  // editOf returns the edit for dragging a grip to a position.
  function editOf(g, px) {
    const t = picture.time(px), by = t - g.at;
    if (g.does === "late") return {do: "late", sent: g.sent, to: fine(t, px)};
    const {from, to} = g.f;
    if (g.does === "move") return {do: "move", fault: g.fault, from: fine(from + by, px)};
    if (g.does === "begin") return {do: "begin", fault: g.fault, from: Math.min(fine(from + by, px), to - 1e6), to};
    return g.f.size ? {do: "end", fault: g.fault, from: 0, to: Math.sign(by) * fine(Math.abs(by), px)} : {do: "end", fault: g.fault, from, to: from + Math.max(1e6, fine(to - from + by, px))};
  }
  for (const end of ["pointerup", "pointercancel"]) above.addEventListener(end, ev => {
    if (!grip || !ev.isPrimary) return;
    const g = grip;
    grip = null;
    document.body.classList.remove("dragging");
    if (g.moved) show(g.base, end === "pointerup" ? g.edit : null);
  });
  above.addEventListener("keydown", ev => {
    const e = ev.target instanceof Element && ev.target.closest(".fault[data-fault]");
    if (!e || ev.ctrlKey || ev.metaKey || ev.altKey) return;
    const number = +e.dataset.fault;
    if (ev.key === "Enter") byId("plan").focus();
    else if (keys[ev.key]) show(null, () => keys[ev.key](number, shown.faults[number - 1], ev.shiftKey ? 10 : 1));
    else return;
    ev.preventDefault();
    ev.stopPropagation();
  }, true);
  // stride is how far a key press moves a fault: eight pixels.
  function stride(f, times) {
    const px = picture.x(f.from);
    return (fine(picture.time(px + 8) - picture.time(px), px) || 1e6) * times;
  }
  const moved = way => (fault, f, times) => f.moves ? {do: "move", fault, from: Math.max(0, f.from + way * stride(f, times))} : null;
  const pulled = way => (fault, f, times) => {
    const by = way * stride(f, times);
    if (f.size) return {do: "end", fault, from: 0, to: by};
    return f.ends ? {do: "end", fault, from: f.from, to: Math.max(f.from + 1e6, f.to + by)} : null;
  };
  const removed = fault => ({do: "remove", fault});
  const keys = {ArrowLeft: moved(-1), ArrowRight: moved(1), "[": pulled(-1), "{": pulled(-1), "]": pulled(1), "}": pulled(1), Delete: removed, Backspace: removed};

  // ---- the palette ----
  // A kind of fault is placed by dragging it onto a lane, by choosing it and then a place in the picture, or by naming
  // the lane.
  let armed = null, carried = null;
  function drawPalette() {
    const bar = byId("palette"), old = new Map([...bar.children].map(b => [b.textContent, b]));
    for (const offer of shown.palette) {
      let b = old.get(offer.kind);
      if (!b) {
        b = document.createElement("button");
        b.type = "button";
        b.textContent = offer.kind;
        b.addEventListener("click", () => arm(b.offer));
        b.addEventListener("pointerdown", ev => { if (b.offer.on) carried = {offer: b.offer, x: ev.clientX, y: ev.clientY}; });
        bar.append(b);
      }
      b.offer = offer;
      b.dataset.tip = offer.on ? offer.is.replaceAll("`", "") : offer.why;
      b.setAttribute("aria-disabled", !offer.on);
      b.setAttribute("aria-pressed", armed === offer.kind);
    }
  }
  function arm(offer) {
    armed = offer && offer.on && armed !== offer.kind ? offer.kind : null;
    const lanes = byId("lanes");
    lanes.hidden = false;
    if (armed) {
      lanes.replaceChildren("Tap a lane in the picture, or put it on ", ...offer.on.map(p => {
        const b = Object.assign(document.createElement("button"), {type: "button", textContent: p});
        b.addEventListener("click", () => add(armed, p, middle()));
        return b;
      }));
    } else if (offer && !offer.on) lanes.textContent = offer.why;
    else lanes.hidden = true;
    drawPalette();
  }
  const middle = () => { const px = byId("chart").clientWidth / 2; return fine(picture.time(px), px); };
  function add(kind, on, from) {
    arm(null);
    show(null, {do: "add", kind, on, from});
  }
  // drop places a fault of a kind at the pointer.
  function drop(kind, ev) {
    const y = ev.clientY - byId("chart").getBoundingClientRect().top, px = xOn(ev);
    const row = [...byId("chart").querySelectorAll(".row")].find(r => {
      const g = r.querySelector(".ground"), top = +g.getAttribute("y");
      return y >= top && y < top + +g.getAttribute("height");
    });
    const name = row && row.querySelector(".name").textContent.split(" ")[0];
    if (!row || name === "faults") {
      arm(null);
      say("faults", "Put it on the lane of a client, a server or the resource.");
      return;
    }
    add(kind, name, fine(picture.time(px), px));
  }
  addEventListener("pointerup", ev => {
    if (!carried) return;
    const {offer, x, y} = carried;
    carried = null;
    if (Math.hypot(ev.clientX - x, ev.clientY - y) < 8) return;
    const at = document.elementFromPoint(ev.clientX, ev.clientY);
    if (at && at.closest("#chart")) drop(offer.kind, ev);
  });

  // ---- messages ----
  byId("messages").addEventListener("click", () => {
    messages = !messages;
    byId("messages").ariaPressed = String(messages);
    show(null, null);
  });
  byId("delay").addEventListener("click", () => {
    const i = +byId("message").value, m = shown.messages[i], by = nanoseconds(byId("later").value);
    if (by === null) say("faults", "expected a duration such as 1s or 250ms, found " + JSON.stringify(byId("later").value));
    else if (m) show(null, {do: "late", sent: m.number, to: m.to + by});
  });

  // ---- the lines ----
  let typing = 0;
  byId("plan").addEventListener("input", () => {
    const lines = byId("plan").value.split("\n");
    clearTimeout(typing);
    typing = setTimeout(() => { typing = 0; show(null, {do: "faults", lines}); }, 250);
  });
  byId("plan").addEventListener("blur", () => { if (shown && byId("plan").ariaInvalid !== "true") drawPlan(); });
  byId("apply").addEventListener("click", () => show(null, {do: "text", text: byId("text").value}));
  byId("seed").addEventListener("change", () => show(null, {do: "set", key: "seed", value: byId("seed").value}));

  // ---- settings ----
  const rows = new Map();
  const units = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];
  function duration(ns) {
    const [unit, size] = units.find(([, n]) => ns >= n) || units[3];
    return +(ns / size).toPrecision(6) + unit;
  }
  function nanoseconds(text) {
    const m = /^(\d+(?:\.\d+)?)(h|m|s|ms|us|ns)$/.exec(text.trim());
    return m ? m[1] * {h: 3.6e12, m: 6e10, s: 1e9, ms: 1e6, us: 1e3, ns: 1}[m[2]] : null;
  }
  const write = (s, n) => s.unit === "ns" ? duration(n) : String(Math.round(n));
  function drawSettings() {
    const seen = new Set();
    for (const s of shown.settings) {
      seen.add(s.key);
      let row = rows.get(s.key);
      if (!row) rows.set(s.key, row = newRow(s));
      row.update(s);
    }
    for (const [key, row] of rows) if (!seen.has(key)) { row.e.remove(); rows.delete(key); }
  }
  function newRow(s) {
    const e = document.createElement("div"), id = "set-" + s.key;
    e.className = "setting";
    const label = Object.assign(document.createElement("label"), {textContent: s.key, htmlFor: id});
    const choice = s.words && !s.unit && s.words.length > 1;
    const field = choice ? document.createElement("select") : document.createElement("input");
    field.id = id;
    if (choice) field.append(...s.words.map(w => new Option(w)));
    else field.autocomplete = "off";
    field.addEventListener("change", () => show(null, {do: "set", key: s.key, value: field.value}));
    e.append(label, field);
    let slider = null, edge = null;
    if (s.unit) {
      const line = document.createElement("div");
      line.className = "slide";
      slider = Object.assign(document.createElement("input"), {type: "range", min: 0, max: 200, step: 1});
      slider.setAttribute("aria-label", s.key + ", slider");
      const sweep = Object.assign(document.createElement("button"), {type: "button", textContent: "edge"});
      sweep.dataset.tip = "sweep this setting: where does mutual exclusion begin to hold or to break?";
      edge = Object.assign(document.createElement("div"), {className: "edge"});
      edge.setAttribute("role", "status");
      line.append(slider, sweep);
      e.append(line, edge);
      const value = () => { const n = row.low + (row.high - row.low) * slider.value / 200; return write(row.s, row.s.unit === "ns" ? +n.toPrecision(3) : n); };
      slider.addEventListener("input", () => { field.value = value(); slider.ariaValueText = field.value; show(null, {do: "set", key: s.key, value: field.value}, {rough: true}); });
      slider.addEventListener("change", () => show(null, {do: "set", key: s.key, value: value()}));
      slider.addEventListener("blur", () => { row.span = 0; row.update(row.s); });
      sweep.addEventListener("click", () => {
        const step = Math.max(1, (row.high - row.low) / 20), low = Math.max(row.low, row.s.unit === "ns" ? step : 1);
        work("edge", {vary: `${s.key}=${write(row.s, low)}..${write(row.s, row.high)}/${write(row.s, Math.ceil(step))}`}, edge);
      });
    }
    const problem = Object.assign(document.createElement("p"), {className: "bad"});
    problem.setAttribute("role", "alert");
    e.append(problem);
    const row = {e, problem, s, span: 0, update(now) {
      row.s = now;
      e.classList.toggle("given", now.given);
      const place = now.main ? byId("settings") : byId("more");
      if (e.parentElement !== place) place.append(e);
      if (document.activeElement !== field || choice) field.value = now.value;
      if (!slider || document.activeElement === slider) return;
      row.low = now.least;
      row.high = now.unit === "1" ? Math.max(2 * now.n, now.least + 8) : Math.max(2.5 * now.n, 1e6);
      if (now.most > 0) row.high = Math.min(row.high, now.most);
      slider.value = Math.round((now.n - row.low) / (row.high - row.low) * 200);
      slider.ariaValueText = now.value;
    }};
    return row;
  }

  // ---- asking further ----
  let working = null;
  async function work(what, more, into) {
    if (working) working.abort();
    const mine = working = new AbortController();
    if (!into) byId("found").hidden = true;
    byId("stop").hidden = false;
    byId("progress").textContent = "begun";
    const began = performance.now();
    try {
      const {problem, done} = await works.ask({do: what, ...state, ...more}, p => { byId("progress").textContent = `${p.what}: ${p.done} of ${p.of}`; }, mine.signal);
      byId("progress").textContent = problem ? "" : `done in ${((performance.now() - began) / 1000).toFixed(1)} s${!into && done.words ? ": " + done.words : ""}`;
      if (problem) return void ((into || byId("progress")).textContent = problem.says);
      if (into) return void (into.textContent = done.words);
      finished(done);
    } catch (err) {
      byId("progress").textContent = err.name === "AbortError" ? "stopped" : err.message;
    } finally {
      if (working === mine) { working = null; byId("stop").hidden = true; }
    }
  }
  function finished(done) {
    const parts = document.createElement("template");
    parts.innerHTML = done.report;
    for (const svg of parts.content.querySelectorAll("#chart")) svg.closest(".card").remove(); // the page keeps one picture: that of the state
    byId("result").replaceChildren(parts.content);
    byId("states").replaceChildren(...(done.states || []).map(found => {
      const b = Object.assign(document.createElement("button"), {type: "button", textContent: "open: " + found.words});
      b.addEventListener("click", () => open(found));
      return b;
    }));
    byId("found").hidden = false;
    byId("found").scrollIntoView({block: "nearest"});
    dispatchEvent(new Event("shown"));
  }
  byId("close").addEventListener("click", () => { byId("found").hidden = true; });
  const open = (to, how) => show({text: to.text, seed: to.seed}, null, how);
  for (const b of document.querySelectorAll("[data-work]")) b.addEventListener("click", () => work(b.dataset.work));
  byId("stop").addEventListener("click", () => working && working.abort());

  // ---- undo ----
  function step(from, to) {
    if (from.length === 0) return;
    const old = from.pop();
    to.push(state);
    open(old, {keep: false});
  }
  const undo = () => then(() => step(past, future)), redo = () => then(() => step(future, past));
  byId("undo").addEventListener("click", undo);
  byId("redo").addEventListener("click", redo);
  addEventListener("keydown", ev => {
    if (!(ev.ctrlKey || ev.metaKey) || ev.key.toLowerCase() !== "z" || ev.target.matches("input, textarea")) return;
    if (ev.shiftKey) redo(); else undo();
    ev.preventDefault();
  });

  // ---- links ----
  const bytes = async stream => new Uint8Array(await new Response(stream).arrayBuffer());
  async function linkOf(s) {
    const packed = await bytes(new Blob([JSON.stringify(s)]).stream().pipeThrough(new CompressionStream("deflate-raw")));
    return "#" + btoa(String.fromCharCode(...packed)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  }
  // Largest accepted state, in bytes: a short link can unpack to very much.
  const mostLinked = 4 << 20;
  async function linked(hash) {
    const packed = Uint8Array.from(atob(hash.slice(1).replaceAll("-", "+").replaceAll("_", "/")), c => c.charCodeAt(0));
    let at = 0; // small pieces, since all that one of them unpacks to is in memory at once
    const pieces = new ReadableStream({pull: to => at < packed.length ? to.enqueue(packed.subarray(at, at += 1024)) : to.close()});
    const unpacked = pieces.pipeThrough(new DecompressionStream("deflate-raw")).getReader(), decoder = new TextDecoder();
    let json = "", size = 0;
    for (let part; !(part = await unpacked.read()).done; json += decoder.decode(part.value, {stream: true})) {
      if ((size += part.value.length) > mostLinked) {
        unpacked.cancel();
        throw new Error(tooLong);
      }
    }
    const {text, seed} = JSON.parse(json + decoder.decode());
    if (typeof text !== "string" || !/^[0-9]{1,20}$/.test(seed) || BigInt(seed) >= 2n ** 64n) throw new Error(broken);
    return {text, seed: String(seed)};
  }
  let saved = "";
  async function saveLink() {
    history.replaceState(null, "", saved = await linkOf(state));
  }
  // openLink opens the state in the address, or else the state that the page began with.
  async function openLink(otherwise) {
    let to = otherwise, problem = "";
    try {
      if (location.hash.length > 1) to = await linked(location.hash);
    } catch (err) {
      problem = err.message === tooLong ? tooLong : broken;
    }
    if (to) open(to, {done: () => { if (problem) byId("problem").textContent = problem; }});
    else if (problem) byId("problem").textContent = problem;
  }
  const tooLong = "This link holds more than 4 MiB, which no scenario has. What is shown is not what it held.";
  const broken = "This link is damaged or incomplete. What is shown is not what it held.";
  addEventListener("hashchange", () => { if (location.hash !== saved) openLink(null); });
  byId("link").addEventListener("click", async () => {
    const link = location.href.split("#")[0] + await linkOf(state);
    try {
      await navigator.clipboard.writeText(link);
      byId("taken").textContent = "copied: " + link.length + " characters that hold all of it";
    } catch {
      byId("taken").textContent = link;
    }
  });
  byId("take").addEventListener("click", async () => {
    byId("taken").textContent = "";
    let problem, files;
    try {
      ({problem, files} = await works.ask({do: "take", ...state}, () => {}));
    } catch (err) {
      problem = {says: err.message};
    }
    if (problem) return void (byId("taken").textContent = problem.says);
    byId("files").replaceChildren(...files.map(f => {
      const li = document.createElement("li"), a = document.createElement("a");
      a.href = URL.createObjectURL(new Blob([f.text], {type: "text/plain"}));
      a.download = f.name;
      a.textContent = f.name;
      li.append(a, " " + f.is);
      return li;
    }));
  });

  // ---- the tour ----
  let stop = -1, begun = null;
  function visit(i) {
    stop = i;
    begun = null;
    const s = data.tour[i];
    byId("tour").hidden = false;
    byId("tour-open").ariaPressed = "true";
    byId("tour-count").textContent = `${i + 1} of ${data.tour.length}`;
    for (const [id, text] of [["title", s.title], ["words", s.words], ["source", s.source], ["question", s.question], ["answer", ""]]) byId("tour-" + id).textContent = text;
    byId("tour-back").disabled = i === 0;
    byId("tour-next").disabled = i === data.tour.length - 1;
    show(null, {do: "scenario", value: s.scenario}, {done: () => { begun = shown; judgeTour(); }});
  }
  // judgeTour shows the answer once the goal is reached: the law has the required outcome and no fault was removed.
  function judgeTour() {
    if (stop < 0 || !begun || shown === begun) return;
    const {goal, answer} = data.tour[stop];
    const reached = shown.laws.some(l => l.name === goal.law && l.outcome === goal.outcome) && (!goal.faults || shown.faults.length >= begun.faults.length);
    byId("tour-answer").textContent = reached ? "✓ " + answer : "";
  }
  byId("tour-open").addEventListener("click", () => {
    if (stop < 0) return visit(0);
    stop = -1;
    byId("tour").hidden = true;
    byId("tour-open").ariaPressed = "false";
  });
  byId("tour-back").addEventListener("click", () => visit(stop - 1));
  byId("tour-next").addEventListener("click", () => visit(stop + 1));

  globalThis.fencepostPicture = () => picture; // for programs that inspect the page from outside

  // ---- the beginning ----
  const pick = byId("scenario");
  pick.append(new Option("one of your own", ""), ...data.catalogue.map(section => {
    const group = Object.assign(document.createElement("optgroup"), {label: section.title});
    group.append(...section.scenarios.map(s => Object.assign(new Option(s.name, s.name), {title: s.summary})));
    return group;
  }));
  pick.addEventListener("change", () => { if (pick.value) show(null, {do: "scenario", value: pick.value}); });
  openLink(state);
}
