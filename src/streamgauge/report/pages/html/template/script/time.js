// Crosshair, tooltip and zoom, over all figures at once.
//
// They are elements of ours above the drawn charts: a move of the pointer changes their places and texts, and never
// asks the charting library to evaluate anything. Only a zoom does: it sets two parameters of each chart.

const SHORTEST_DRAG = 5;
const SHORTEST_ZOOM_S = 1;
const FAST = 10;
const tip = the("#tip"), spoken = the("#spoken");
let zoom = null;
let drag = null;

/** The elements that lie above a chart. */
function cover(plot) {
  plot.cross = make("div", {className: "cross", hidden: true});
  plot.brush = make("div", {className: "brush", hidden: true});
  plot.place.append(plot.cross, plot.brush);
}

const drawnPlots = () => [...plots.values()].filter(plot => plot.drawn && plot.view);
const timePlots = () => drawnPlots().filter(plot => plot.isOverTime);

/** Puts the line of a plot at a key; hides it where that is not within what the plot shows. */
function cross(plot, key) {
  const x = plot.pixel(key), within = x >= -0.5 && x <= plot.width + 0.5;
  plot.cross.hidden = plot.isDown || !within;
  if (!plot.cross.hidden) plot.cross.style.transform = `translate(${plot.left + x}px, ${plot.top}px)`;
}

function hideAll() {
  for (const plot of drawnPlots()) plot.cross.hidden = true;
  tip.hidden = true;
}

/** Shows what stands at one key of a plot, and the same second in all other plots over time. */
function point(plot, index) {
  plot.index = index;
  const key = plot.keys[index];
  if (plot.isOverTime) for (const other of timePlots()) cross(other, key);
  else cross(plot, key);
  return plot.told(key);
}

/** The lines of a tooltip, made again only where a chart has others than the one before. */
function fillTip({title, found}, causes) {
  const names = found.map(({name, color}) => `${name}\n${color}`).join("\n");
  if (tip.dataset.names !== names) {
    tip.dataset.names = names;
    tip.replaceChildren(make("b"), make("table"), make("p", {className: "causes"}));
    for (const {name, color} of found) {
      const row = tip.children[1].insertRow();
      row.append(make("td", {className: "key"}), make("td", {textContent: name}), make("td", {className: "n"}), make("td"));
      row.cells[0].style.setProperty("--series", color ?? "transparent");
    }
  }
  tip.children[0].textContent = title;
  found.forEach(({value, unit}, at) => {
    const cells = tip.children[1].rows[at].cells;
    cells[2].textContent = shown(value);
    cells[3].textContent = value === null || value === undefined ? "" : unit;
  });
  tip.children[2].textContent = causes.join("; ");
}

/** Shows the tooltip beside a place of the screen, on the side where there is room. */
function showTip(told, causes, x, y) {
  fillTip(told, causes);
  const left = x > innerWidth / 2, up = y > innerHeight * 0.6;
  tip.style.transform = `translate(${x}px, ${y}px) translate(${left ? "calc(-100% - 14px)" : "14px"}, ${up ? "-100%" : "0"})`;
  tip.hidden = false;
}

/** Shows what a plot tells at a place of the screen. */
function lookAt(plot, clientX, clientY) {
  const box = plot.place.getBoundingClientRect();
  const x = clientX - box.left - plot.left, y = clientY - box.top - plot.top;
  const index = plot.at(Math.min(Math.max(x, 0), plot.width), y);
  if (index >= 0) {
    const told = point(plot, index);
    showTip(told, told.around, clientX, clientY);
    return;
  }
  const cell = plot.cellAt(x, y);
  if (plot.isOverTime && plot.scale?.invert) for (const other of timePlots()) cross(other, plot.scale.invert(x));
  if (cell) showTip(cell, [], clientX, clientY);
  else tip.hidden = true;
}

/** Says what stands at the key that the keyboard chose. */
function say(plot) {
  const told = point(plot, plot.index), key = plot.keys[plot.index], box = plot.place.getBoundingClientRect();
  const x = plot.isDown ? box.left + plot.left : box.left + plot.left + plot.pixel(key);
  showTip(told, told.around, x, box.top + plot.top + 8);
  const values = told.found.map(({name, value, unit}) => `${name} ${value === null ? "not known" : `${shown(value)} ${unit}`}`);
  spoken.textContent = [told.title, ...values, ...told.around].join("; ");
}

/** The second at a place of the screen, within what is shown. */
function secondAt(plot, clientX) {
  const x = clientX - plot.place.getBoundingClientRect().left - plot.left;
  return plot.scale.invert(Math.min(Math.max(x, 0), plot.width));
}

/** Shows in all plots which part of the time is being chosen. */
function mark([from, to]) {
  for (const plot of timePlots()) {
    const x = plot.pixel(Math.min(from, to)), width = plot.pixel(Math.max(from, to)) - x;
    plot.brush.hidden = false;
    plot.brush.style.height = `${plot.height}px`;
    plot.brush.style.width = `${width}px`;
    plot.brush.style.transform = `translate(${plot.left + x}px, ${plot.top}px)`;
  }
}

function unmark() {
  drag = null;
  for (const plot of drawnPlots()) plot.brush.hidden = true;
}

/** The time that a chart shows when nobody has zoomed. */
function whole() {
  const plot = timePlots()[0];
  if (!plot) return null;
  const [from, to] = ["time_from", "time_to"].map(name => plot.drawing.spec.params.find(each => each.name === name).value);
  return [from, to];
}

/** Shows a part of the time in all plots, those in sight first; null for the whole run. */
async function zoomTo(span) {
  unmark();
  hideAll();
  const limits = whole();
  if (!limits) return;
  if (span) {
    const [from, to] = [Math.min(...span), Math.max(...span)];
    if (to - from < SHORTEST_ZOOM_S) return;
    zoom = [Math.max(from, limits[0]), Math.min(to, limits[1])];
  } else zoom = null;
  const note = the("#zoomed");
  note.hidden = !zoom;
  if (zoom) note.firstElementChild.textContent = `Seconds ${shown(Math.round(zoom[0] * 10) / 10)} to ${shown(Math.round(zoom[1] * 10) / 10)}`;
  const far = plot => {
    const {top, bottom} = plot.place.getBoundingClientRect();
    return bottom < 0 ? -bottom : Math.max(0, top - innerHeight);
  };
  for (const plot of timePlots().sort((one, other) => far(one) - far(other))) {
    await plot.show(zoom ?? limits);
    if (far(plot) > 0) await new Promise(done => setTimeout(done));
  }
  document.documentElement.dataset.zoom = zoom ? zoom.join(" ") : "";
}

const MOVES = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1};

/** Moves through a plot by keys: arrows, Home and End; Enter begins and ends a zoom, Escape ends all. */
function press(plot, event) {
  const {key} = event, last = (plot.keys?.length ?? 0) - 1;
  if (last < 0) return;
  const from = plot.index ?? (key === "ArrowLeft" ? last + 1 : -1);
  if (key in MOVES) plot.index = Math.min(Math.max(from + MOVES[key] * (event.shiftKey ? FAST : 1), 0), last);
  else if (key === "Home") plot.index = 0;
  else if (key === "End") plot.index = last;
  else if (key === "Enter" && plot.isOverTime && plot.index !== undefined) chooseByKey(plot);
  else if (key === "Escape") {
    if (drag || !zoom) unmark();
    else zoomTo(null);
    hideAll();
    return;
  } else return;
  event.preventDefault();
  if (drag?.plot === plot) mark([drag.from, plot.keys[plot.index]]);
  if (plot.index !== undefined) say(plot);
}

function chooseByKey(plot) {
  const second = plot.keys[plot.index];
  if (drag?.plot === plot) zoomTo([drag.from, second]);
  else {
    drag = {plot, from: second};
    mark([second, second]);
  }
}

function listen(plot) {
  const {place} = plot;
  cover(plot);
  place.addEventListener("pointermove", event => {
    if (!plot.view || !plot.parts.size) return;
    if (drag?.plot === plot && drag.at !== undefined && Math.abs(event.clientX - drag.at) > SHORTEST_DRAG) {
      drag.moved = true;
      mark([drag.from, secondAt(plot, event.clientX)]);
    }
    lookAt(plot, event.clientX, event.clientY);
  });
  place.addEventListener("pointerleave", () => drag || hideAll());
  place.addEventListener("pointerdown", event => {
    if (event.button !== 0 || event.pointerType === "touch" || !plot.isOverTime || !plot.scale?.invert) return;
    drag = {plot, at: event.clientX, from: secondAt(plot, event.clientX)};
    place.setPointerCapture(event.pointerId);
  });
  place.addEventListener("pointerup", event => {
    if (drag?.plot !== plot) return;
    if (drag.moved) zoomTo([drag.from, secondAt(plot, event.clientX)]);
    else unmark();
  });
  place.addEventListener("pointercancel", unmark);
  place.addEventListener("dblclick", () => zoomTo(null));
  place.addEventListener("keydown", event => press(plot, event));
  place.addEventListener("blur", hideAll);
}

the("#zoomed button").addEventListener("click", () => zoomTo(null));
