// What a reader does with the timeline, and what has to follow.
const line = document.getElementById("timeline");
const bars = [...document.querySelectorAll("#bars .s")];
const box = line.getBoundingClientRect();
const left = (bar) => Number(bar.querySelector("rect").getAttribute("x"));
const wide = (bar) => Number(bar.querySelector("rect").getAttribute("width"));
const seen = () => bars.filter((bar) => bar.style.display !== "none").length;
const key = (key, options = {}) => (document.activeElement.closest("svg") || line).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...options }));
const pointer = (kind, target, x, y) => target.dispatchEvent(new PointerEvent(kind, { clientX: x, clientY: y, bubbles: true, pointerId: 1, button: 0 }));
const [out, into, reset] = document.querySelectorAll("#tools button");
const before = bars.map(left);
assert(seen() === bars.length, "all bars are seen at first");

into.click();
assert(seen() < bars.length, "zooming in leaves some outside");
const middle = bars.find((bar) => bar.style.display !== "none" && left(bar) > 300);
const width = wide(middle);
into.click();
assert(wide(middle) > width * 1.5 || middle.style.display === "none", "zooming in makes bars wider");
reset.click();
assert(bars.every((bar, at) => Math.abs(left(bar) - before[at]) < 0.11), "reset puts all back");
out.click();
assert(bars.every((bar, at) => Math.abs(left(bar) - before[at]) < 0.11), "there is nothing beyond the whole");

line.dispatchEvent(new WheelEvent("wheel", { deltaY: -300, ctrlKey: true, clientX: box.left + 200, clientY: box.top + 50, bubbles: true, cancelable: true }));
assert(seen() < bars.length, "the wheel zooms with Ctrl");
const marks = document.getElementById("axis").textContent;
pointer("pointerdown", line, box.left + 600, box.top + 50);
pointer("pointermove", line, box.left + 300, box.top + 50);
pointer("pointerup", line, box.left + 300, box.top + 50);
assert(document.getElementById("axis").textContent !== marks, "dragging moves the axis");
line.focus();
key("0");
assert(seen() === bars.length, "0 shows all");
const plain = new WheelEvent("wheel", { deltaY: -300, clientX: box.left + 200, bubbles: true, cancelable: true });
line.dispatchEvent(plain);
assert(!plain.defaultPrevented && seen() === bars.length, "the wheel alone scrolls the page");

const tip = document.getElementById("tip");
const dot = bars.find((bar) => bar.classList.contains("mxu"));
const place = dot.getBoundingClientRect();
pointer("pointermove", dot, place.left + 2, place.top + 2);
assert(!tip.hidden && /MXU: dot/.test(tip.textContent) && /2,048 cycles/.test(tip.textContent), `the tooltip has the numbers: ${tip.textContent}`);
const lit = bars.filter((bar) => bar.classList.contains("on"));
assert(lit.length > 3 && lit.every((bar) => bar.dataset.n === dot.dataset.n), "the step is picked out across the lanes");
pointer("pointermove", document.querySelector("h1"), 30, 30);
assert(tip.hidden && !document.querySelector(".on"), "and let go");

const block = document.querySelector("#vmem .m");
pointer("pointermove", block, 30, 30);
const copies = bars.filter((bar) => bar.classList.contains("on"));
assert(copies.length > 0 && copies.every((bar) => bar.dataset.o === block.dataset.o), "a block of the memory picks out its copies");
pointer("pointermove", document.querySelector("h1"), 30, 30);

line.focus();
key("ArrowRight");
const first = document.activeElement;
assert(first.classList.contains("s") && first.dataset.a === "0", "the keyboard walks to the first bar");
assert(!tip.hidden && tip.textContent.startsWith("DMA in"), "and shows its numbers");
key("ArrowRight");
assert(document.activeElement !== first && Number(document.activeElement.dataset.a) > 0, "to the next one");
key("ArrowDown");
assert(!document.activeElement.classList.contains("dma"), "to the lane below");
assert(document.activeElement.getAttribute("aria-label").includes("cycle"), "each bar has a name");
key("Escape");
assert(document.activeElement === line && tip.hidden, "Escape returns to the timeline");
assert([...document.querySelectorAll("svg title")].length === 0, "there is one tooltip, not two");

location.hash = "#mosaic-40";
dispatchEvent(new HashChangeEvent("hashchange"));
assert(document.getElementById("mosaic-40").closest("details").open, "a link to a line opens its stage");
