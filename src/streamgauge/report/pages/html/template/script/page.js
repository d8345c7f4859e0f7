// The page comes to life: figures in sight are drawn first, folded ones when they are unfolded.

const RESIZED_MS = 200;
let resized;

const isFolded = place => place.closest("details:not([open])") !== null;

async function bring(plot) {
  await plot.draw();
  showLegend(plot);
  showWords(plot);
  showSwitches(plot);
}

for (const place of all("[data-figure]")) {
  const plot = new Plot(place);
  plots.set(plot.name, plot);
  listen(plot);
}

for (const details of all("details.folded, details.line"))
  details.addEventListener("toggle", async () => {
    const waiting = [...plots.values()].filter(plot => !plot.drawn && details.contains(plot.place) && !isFolded(plot.place));
    await Promise.allSettled(waiting.map(bring));
    showControls();
  });

/** Unfolds what an address within the page points into. */
function unfold() {
  const place = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  if (!place) return;
  const folded = place.closest("details:not([open])") ?? (place.id === "diagnostics" || place.tagName === "DETAILS" ? place.closest("details") ?? the("details.folded", place) : null);
  if (!folded || folded.open) return;
  folded.open = true;
  place.scrollIntoView();
}
addEventListener("hashchange", unfold);

/** Marks in the contents where the reader is. */
function follow() {
  const links = new Map(all(".side nav a").map(link => [link.hash.slice(1), link]));
  const watcher = new IntersectionObserver(seen => {
    for (const {target, isIntersecting} of seen) target.dataset.inSight = isIntersecting ? "yes" : "";
    const first = all("main > [id]").find(each => each.dataset.inSight === "yes");
    for (const [id, link] of links)
      if (id === first?.id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
  }, {rootMargin: "-15% 0px -70% 0px"});
  for (const id of links.keys()) if (document.getElementById(id)) watcher.observe(document.getElementById(id));
}

/** Copies the text of an element; selects it where the page may not copy, as over plain HTTP. Returns what was done. */
async function copy(source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return "Copied";
  } catch {
    getSelection().selectAllChildren(source);
    return "Selected";
  }
}

for (const button of all("[data-copies]"))
  button.addEventListener("click", async () => { button.textContent = await copy(document.getElementById(button.dataset.copies)); });

// Charts follow the width of the window by themselves; what lies above them has to be measured again.
addEventListener("resize", () => requestAnimationFrame(() => drawnPlots().forEach(plot => plot.measure())));
// Panels do not: they are drawn again.
addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(() => drawnPlots().filter(plot => plot.hasOtherWidth).forEach(plot => plot.draw()), RESIZED_MS);
});
if (matchMedia("(max-width: 63rem)").matches) the(".controls").open = false;

follow();
showControls();
const waiting = [...plots.values()].filter(plot => !isFolded(plot.place));
const drawn = await Promise.allSettled(waiting.map(bring));
showControls();
for (const {reason} of drawn.filter(one => one.status === "rejected")) console.error(reason);
document.documentElement.dataset.figures = drawn.every(one => one.status === "fulfilled") ? "drawn" : "failed";
unfold();
