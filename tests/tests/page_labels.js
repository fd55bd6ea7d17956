// Every visible label of every picture, against every other one and against the picture's edges.
for (const picture of document.querySelectorAll("svg.pic")) {
  const frame = picture.getBoundingClientRect();
  const labels = [...picture.querySelectorAll("text")]
    .map((text) => ({ text: text.textContent, turned: text.getAttribute("transform"), box: text.getBoundingClientRect() }))
    .filter(({ text, box }) => text && box.width > 0);
  for (const { text, box } of labels) {
    // A label may run out of its plot where a clip ends it, but never out of the picture by more than a letter.
    const inside = box.left >= frame.left - 2 && box.right <= frame.right + 2 && box.top >= frame.top - 2 && box.bottom <= frame.bottom + 2;
    assert(inside, `${picture.id || "roofline"}: "${text}" leaves the picture`);
  }
  labels.forEach((a, at) => {
    for (const b of labels.slice(at + 1)) {
      // The boxes of turned text are larger than the text.
      if (a.turned || b.turned) continue;
      const across = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
      const down = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
      assert(across < 1 || down < 3, `${picture.id || "roofline"}: "${a.text}" lies on "${b.text}"`);
    }
  });
}
const sideways = document.documentElement.scrollWidth - document.documentElement.clientWidth;
assert(sideways <= 0, `the page is ${sideways} too wide`);
