// Moves what the page already shows: zoom and pan of the timeline, exact numbers under the pointer, one step or operand
// picked out across the page. Nothing here adds a figure.
"use strict";
(() => {
  const tip = document.getElementById("tip");
  const titles = new WeakMap();

  // The browser's own tooltips make place for ours; what they said names the element.
  for (const title of document.querySelectorAll("svg title")) {
    const owner = title.parentNode;
    titles.set(owner, title.textContent);
    owner.setAttribute("aria-label", title.textContent.replace(/\n/g, ", "));
    title.remove();
  }

  const show = (owner, x, y) => {
    const text = titles.get(owner);
    if (!text) return hide();
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(x + 14, innerWidth - box.width - 8);
    const below = y + 18 + box.height < innerHeight;
    tip.style.transform = `translate(${Math.max(8, left)}px, ${below ? y + 18 : Math.max(4, y - box.height - 12)}px)`;
  };
  const hide = () => { tip.hidden = true; };

  const titled = (target) => {
    for (let at = target; at && at !== document; at = at.parentNode) if (titles.has(at)) return at;
    return null;
  };

  // One step, or one operand, picked out.
  const timeline = document.getElementById("timeline");
  const bars = [...document.querySelectorAll("#bars .s")];
  const linked = [...document.querySelectorAll("[data-o]")];
  let pinned = null;
  const pick = (step, operand) => {
    const some = step !== undefined || operand !== undefined;
    if (timeline) timeline.classList.toggle("dim", some && bars.some((s) => s.dataset.n === step || s.dataset.o === operand && operand !== undefined));
    for (const s of bars) s.classList.toggle("on", some && (step !== undefined ? s.dataset.n === step : s.dataset.o === operand));
    for (const m of linked) if (!m.classList.contains("s")) m.classList.toggle("on", operand !== undefined && m.dataset.o === operand);
  };
  const over = (owner) => {
    if (owner && owner.dataset.n !== undefined) pick(owner.dataset.n, owner.dataset.o);
    else if (owner && owner.dataset.o !== undefined) pick(undefined, owner.dataset.o);
    else pick(pinned ?? undefined, undefined);
  };

  document.addEventListener("pointermove", (event) => {
    if (dragging) return;
    const owner = titled(event.target);
    if (owner) show(owner, event.clientX, event.clientY); else hide();
    const row = event.target.closest ? event.target.closest("[data-o]") : null;
    over(owner && (owner.dataset.n !== undefined || owner.dataset.o !== undefined) ? owner : row);
  });
  document.addEventListener("pointerleave", hide);
  document.addEventListener("scroll", hide, { passive: true, capture: true });

  // Labels of the memory map that its narrower blocks have no room for.
  const map = () => {
    for (const holder of document.querySelectorAll(".blocktext, .freetext")) {
      const room = holder.width.baseVal.value;
      for (const text of holder.querySelectorAll("text")) {
        text.classList.remove("h");
        text.classList.toggle("h", text.getComputedTextLength() + 8 > room);
      }
    }
  };
  addEventListener("resize", map);
  map();

  // A link to a line of IR opens what holds it.
  const open = () => {
    const line = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const holder = line && line.closest("details");
    if (holder && !holder.open) { holder.open = true; line.scrollIntoView({ block: "center" }); }
  };
  addEventListener("hashchange", open);
  open();

  let dragging = null;
  if (!timeline || !bars.length) return;

  const number = (name) => Number(timeline.dataset[name]);
  const [end, left, right, bottom, clock] = ["end", "left", "right", "bottom", "clock"].map(number);
  const bands = [...timeline.querySelectorAll(".band")];
  const axis = document.getElementById("axis");
  const plot = document.getElementById("plotbox");
  const tracks = [...timeline.querySelectorAll(".track")];
  const height = timeline.getAttribute("height");
  const LETTER = 6.7;
  let width = 0, from = 0, to = end;

  const room = () => width - left - right;
  const at = (cycle) => left + (cycle - from) / (to - from) * room();
  const cycleAt = (x) => from + (x - left) / room() * (to - from);
  const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
  const digits = (v) => v >= 1000 ? v.toFixed(0) : String(Number(v.toPrecision(4)));
  const time = (cycles) => {
    const ns = cycles * 1e3 / clock;
    return ns < 1e3 ? digits(ns) + " ns" : ns < 1e6 ? digits(ns / 1e3) + " µs" : ns < 1e9 ? digits(ns / 1e6) + " ms" : digits(ns / 1e9) + " s";
  };

  const place = (group, least) => {
    const a = at(Number(group.dataset.a)), b = at(Number(group.dataset.b));
    const seen = b >= left && a <= left + room();
    group.style.display = seen ? "" : "none";
    // What lies far outside is cut: pictures have no room for such numbers.
    const x0 = Math.max(a, left - 8), x1 = Math.min(b, left + room() + 8);
    if (seen) {
      const rect = group.querySelector("rect");
      rect.setAttribute("x", x0.toFixed(1));
      rect.setAttribute("width", Math.max(x1 - x0, least).toFixed(1));
    }
    return seen ? [Math.max(a, left), Math.min(b, left + room())] : null;
  };
  const placeBar = (bar) => {
    const seen = place(bar, 1), text = bar.querySelector("text");
    if (!seen || !text) return;
    text.setAttribute("x", (seen[0] + 5).toFixed(1));
    text.classList.toggle("h", text.textContent.length * LETTER + 10 > seen[1] - seen[0]);
  };
  // A band's label may be wider than the band, but lies on no other.
  const placeBands = () => {
    const free = [left, left];
    for (const band of bands) {
      const seen = place(band, 0.5);
      if (!seen) continue;
      for (const text of band.querySelectorAll("text")) {
        const line = text.classList.contains("place") ? 1 : 0;
        const middle = (seen[0] + seen[1]) / 2, half = text.textContent.length * LETTER / 2;
        const fits = middle - half >= free[line] && middle + half <= left + room();
        if (fits) free[line] = middle + half + LETTER;
        text.setAttribute("x", middle.toFixed(1));
        text.classList.toggle("h", !fits);
      }
    }
  };

  const marks = () => {
    const least = Math.max(1, (to - from) / Math.max(2, Math.floor(room() / 125)));
    let decade = 1, step = 0;
    while (!step) { for (const f of [1, 2, 5]) if (!step && f * decade >= least) step = f * decade; decade *= 10; }
    const parts = [["path", { d: `M${left} ${bottom}H${left + room()}` }]];
    for (let c = Math.ceil(from / step) * step; c <= to; c += step) {
      const x = at(c).toFixed(1);
      parts.push(["path", { d: `M${x} ${bottom}v5` }]);
      parts.push(["text", { x, y: bottom + 18 }, grouped(c)]);
      parts.push(["text", { x, y: bottom + 32, class: "time" }, c === 0 ? "cycles" : time(c)]);
    }
    axis.replaceChildren(...parts.map(([name, attributes, text]) => {
      const node = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
      if (text !== undefined) node.textContent = text;
      return node;
    }));
  };

  const draw = () => {
    timeline.setAttribute("width", width);
    timeline.setAttribute("viewBox", `0 0 ${width} ${height}`);
    plot.setAttribute("width", room());
    for (const track of tracks) track.setAttribute("width", room());
    placeBands();
    for (const bar of bars) placeBar(bar);
    marks();
  };
  const fit = () => {
    const wide = Math.max(420, Math.floor(timeline.parentNode.clientWidth));
    if (wide !== width) { width = wide; draw(); }
  };
  const look = (a, b) => {
    const span = Math.min(Math.max(b - a, Math.min(20, end)), end);
    from = Math.min(Math.max(a, 0), end - span);
    to = from + span;
    draw();
  };
  const zoom = (factor, x = left + room() / 2) => {
    const c = cycleAt(Math.min(Math.max(x, left), left + room()));
    look(c - (c - from) * factor, c + (to - c) * factor);
  };
  const pan = (part) => look(from + (to - from) * part, to + (to - from) * part);

  const tools = document.getElementById("tools");
  const hint = document.createElement("span");
  hint.textContent = "drag to move, Ctrl and wheel to zoom, arrow keys to walk";
  tools.append(hint);
  for (const [label, name, act] of [
    ["−", "Zoom out", () => zoom(2)], ["+", "Zoom in", () => zoom(0.5)], ["Reset", "Show everything", () => look(0, end)],
  ]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.setAttribute("aria-label", name);
    button.addEventListener("click", act);
    tools.append(button);
  }
  tools.classList.add("live");
  timeline.classList.add("live");
  timeline.setAttribute("tabindex", "0");

  const x = (event) => event.clientX - timeline.getBoundingClientRect().left;
  timeline.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.metaKey) { event.preventDefault(); zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), x(event)); }
    else if (event.shiftKey && to - from < end) { event.preventDefault(); pan((event.deltaY || event.deltaX) / 1000); }
  }, { passive: false });
  timeline.addEventListener("pointerdown", (event) => {
    if (event.button === 0) dragging = { x: event.clientX, from, to, moved: false, id: event.pointerId };
  });
  addEventListener("pointermove", (event) => {
    if (!dragging || event.pointerId !== dragging.id) return;
    const far = event.clientX - dragging.x;
    if (!dragging.moved && Math.abs(far) < 4) return;
    dragging.moved = true;
    hide();
    timeline.classList.add("drag");
    const by = -far / room() * (dragging.to - dragging.from);
    look(dragging.from + by, dragging.to + by);
  });
  const drop = (event) => {
    if (!dragging || event.pointerId !== dragging.id) return;
    if (!dragging.moved && event.type === "pointerup") {
      const owner = titled(event.target);
      const step = owner ? owner.dataset.n : undefined;
      pinned = step === undefined || step === pinned ? null : step;
      over(owner);
    }
    dragging = null;
    timeline.classList.remove("drag");
  };
  addEventListener("pointerup", drop);
  addEventListener("pointercancel", drop);
  timeline.addEventListener("dblclick", (event) => zoom(0.4, x(event)));

  // Keys: arrows walk from bar to bar, with Shift they move the view; + and − zoom, 0 shows all, Escape lets go.
  let current = null;
  const middle = (s) => (Number(s.dataset.a) + Number(s.dataset.b)) / 2;
  const height_of = (s) => Number(s.querySelector("rect").getAttribute("y"));
  const walk = (dx, dy) => {
    if (!current) return bars.reduce((best, s) => Number(s.dataset.a) < Number(best.dataset.a) ? s : best);
    const y = height_of(current), c = middle(current);
    const beyond = bars.filter((s) => dy ? Math.sign(height_of(s) - y) === dy : height_of(s) === y && Math.sign(middle(s) - c) === dx);
    const far = (s) => dy ? Math.abs(height_of(s) - y) * 1e9 + Math.abs(middle(s) - c) / end : Math.abs(middle(s) - c);
    return beyond.length ? beyond.reduce((best, s) => far(s) < far(best) ? s : best) : current;
  };
  const go = (s) => {
    current = s;
    const a = Number(s.dataset.a), b = Number(s.dataset.b);
    if (a < from || b > to) look((a + b) / 2 - (to - from) / 2, (a + b) / 2 + (to - from) / 2);
    s.focus({ preventScroll: true });
    const box = s.getBoundingClientRect();
    show(s, Math.max(box.left, 0), box.bottom - 8);
    over(s);
  };
  timeline.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = {
      ArrowLeft: () => event.shiftKey ? pan(-0.2) : go(walk(-1, 0)), ArrowRight: () => event.shiftKey ? pan(0.2) : go(walk(1, 0)),
      ArrowUp: () => go(walk(0, -1)), ArrowDown: () => go(walk(0, 1)),
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => look(0, end),
      Escape: () => { pinned = null; hide(); timeline.focus({ preventScroll: true }); over(null); },
    };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  timeline.addEventListener("focusout", () => { hide(); over(null); });

  addEventListener("resize", fit);
  fit();
})();
