// Switches: for all figures beside the contents, and for one figure above it where it has something to choose.

const choices = {kind: "both", path: "both", scale: "own", group: "own"};
const CHOICES = {
  kind: {label: "Time", options: {both: "both", response: "response", service: "service"}},
  path: {label: "Path", options: {both: "both", "end-to-end": "end to end", ack: "ack"}},
  scale: {label: "Scale", options: {own: "as drawn", linear: "linear", logarithmic: "log"}},
  group: {label: "Group by", options: {own: "as drawn", worker: "worker", role: "role"}},
};

let made = 0;

/** Buttons of which one is chosen; `chosen` is called with what. */
function choiceOf(label, options, value, chosen) {
  const name = `choice${made++}`;
  const set = make("fieldset", {className: "choice"}, make("legend", {textContent: label}));
  for (const [each, words] of Object.entries(options)) {
    const input = make("input", {type: "radio", name, value: each, checked: each === value});
    input.addEventListener("change", () => chosen(each));
    set.append(make("label", {}, input, make("span", {textContent: words})));
  }
  return set;
}

/** What a figure lets one choose: of each switch the options that make a difference. */
function offered(plot) {
  const found = {};
  const variants = drawings[plot.name].variants ?? {};
  for (const about of ["kind", "path"]) if (plot.has(about)) found[about] = CHOICES[about].options;
  const there = about => Object.values(variants[about] ?? {}).some(other => drawings[other]);
  if (there("path")) found.path = {"end-to-end": "end to end", ack: "ack"};
  if (there("group")) found.group = {role: "role", worker: "worker"};
  if (canChangeScale(plot.drawing.spec)) found.scale = {linear: "linear", logarithmic: "log"};
  return found;
}

/** What is chosen for a figure among what it offers. */
function valueOf(plot, about, options) {
  const chosen = plot.choice(about);
  if (about === "scale" && chosen === "own") return isLogarithmic(plot.drawing.spec) ? "logarithmic" : "linear";
  return chosen in options ? chosen : Object.keys(options)[0];
}

/** Applies what was chosen to a figure; only series that come and go need no new drawing. */
async function apply(plot, about) {
  const redraws = about === "scale" || drawings[plot.name].variants?.[about];
  hideAll();
  if (redraws) await plot.draw();
  else await plot.filter();
  showLegend(plot);
  if (redraws) showWords(plot);
}

/** Says what the chart is that the switches chose: its title, its words, what of it is not believed, and its tables. */
function showWords(plot) {
  const {drawing: {title, about, doubt}, figure, place} = plot;
  the("h3", figure).firstChild.textContent = title;
  the("figcaption > p", figure).textContent = about;
  place.setAttribute("aria-label", title);
  figure.classList.toggle("is-doubted", doubt !== "");
  the(".doubted", figure)?.remove();
  if (doubt) the("[data-legend]", figure).before(doubtOf(doubt));
  showTables(plot, areTablesShown(plot));
  the("[data-saving]", figure).replaceChildren(...savingOf(plot));
}

const doubtOf = doubt => make("p", {className: "doubted"}, make("b", {textContent: "Not believed:"}), ` ${doubt}; see the `,
  make("a", {href: "#verdict", textContent: "verdict"}));

function showSwitches(plot) {
  const place = the("[data-switches]", plot.figure);
  place.replaceChildren(...Object.entries(offered(plot)).map(([about, options]) =>
    choiceOf(CHOICES[about].label, options, valueOf(plot, about, options), async value => {
      plot.own[about] = value;
      await apply(plot, about);
    })));
  for (const set of place.children) set.firstChild.classList.add("unseen");
}

const SIGNS = {"triangle-up": "▲", "triangle-down": "▼", "triangle-right": "▶", square: "■", circle: "●", diamond: "◆", cross: "✚"};

/** The sign of an entry: a line with its colour and dash, or a shape. */
function signOf({color, dash, shape, mark}) {
  if (shape) {
    const sign = make("span", {className: "sign", textContent: SIGNS[shape] ?? "●"});
    sign.style.color = color ?? "";
    return sign;
  }
  const sign = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const isLine = ["line", "rule"].includes(mark), line = document.createElementNS(sign.namespaceURI, "line");
  sign.setAttribute("viewBox", "0 0 22 10");
  sign.setAttribute("class", "sign");
  sign.setAttribute("aria-hidden", "true");
  const drawn = {x1: isLine ? 0 : 6, x2: isLine ? 22 : 16, y1: 5, y2: 5, stroke: color, "stroke-width": isLine ? 2.5 : 10};
  if (isLine && dash && dash[1]) drawn["stroke-dasharray"] = dash.join(" ");
  for (const [name, value] of Object.entries(drawn)) line.setAttribute(name, value);
  sign.append(line);
  return sign;
}

/** The legend of a figure: a click on a series shows it alone, one more shows all; with Shift, several. */
function showLegend(plot) {
  const place = the("[data-legend]", plot.figure), {entries, series} = plot;
  const focused = document.activeElement?.dataset?.series;
  place.replaceChildren(...(entries.length > 1 ? entries : []).map(entry => {
    if (!entry.color) return make("span", {className: "entry"}, signOf(entry), entry.name);
    const button = make("button", {type: "button", className: "entry"}, signOf(entry), entry.name);
    button.dataset.series = entry.name;
    button.setAttribute("aria-pressed", String(plot.isolated.has(entry.name)));
    button.classList.toggle("off", !plot.isChosen(entry.name));
    button.addEventListener("click", async event => {
      const alone = plot.isolated.has(entry.name);
      if (!event.shiftKey) plot.isolated.clear();
      if (alone) plot.isolated.delete(entry.name);
      else plot.isolated.add(entry.name);
      await apply(plot, "series");
    });
    return button;
  }));
  if (focused !== undefined) all("button", place).find(each => each.dataset.series === focused)?.focus();
  place.hidden = !place.children.length;
}

/** The switches of all figures, as far as one of them has something to choose, and that of the colours. */
function showControls() {
  const about = new Set([...plots.values()].filter(plot => plot.view).flatMap(plot => Object.keys(offered(plot))));
  const sets = Object.entries(CHOICES).filter(([name]) => about.has(name)).map(([name, {label, options}]) =>
    choiceOf(label, options, choices[name], async value => {
      choices[name] = value;
      for (const plot of plots.values()) {
        delete plot.own[name];
        if (!plot.view || !(name in offered(plot))) continue;
        await apply(plot, name);
        showSwitches(plot);
      }
    }));
  const themes = {system: "system", light: "light", dark: "dark"};
  const theme = choiceOf("Colours", themes, document.documentElement.dataset.theme ?? "system", value => {
    // Kept in the page alone: a file has no place of its own to remember it.
    if (value === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = value;
  });
  the("#controls").replaceChildren(...sets, theme);
}
