// All runs in one table, which is filtered and sorted here, and those that are ticked side by side.

const LABELS = {scenario: "scenario", setting: "setting", machine: "machine", category: "category", verdict: "verdict"};
const TONES = {"VALID": "good", "NOT VALID": "bad", "not readable": "bad"};
const ticked = new Set();
const order = {name: "created", descending: true};

/** The figure of a run at the first of these paths that it has: value, text, interval, why it is not believed. */
const figureAt = (run, paths) => paths.map(path => run.figures[path]).find(Boolean);

/** A figure as text; one that is not believed is struck out, and says why. */
function figureText(figure) {
  if (!figure) return "-";
  const [, text, , doubt] = figure;
  return doubt === null ? text : make("s", {textContent: text, title: `not believed: ${doubt}`});
}

const COLUMNS = [
  {name: "path", label: "run", cell: runCell},
  ...["scenario", "setting", "machine"].map(name => ({name, label: LABELS[name], cell: run => run[name]})),
  {name: "verdict", label: "verdict", cell: run => make("span", {className: TONES[run.verdict] ?? "doubt", textContent: run.verdict})},
  {name: "created", label: "created", cell: run => run.created},
  ...site.columns.map(({label, paths}) => ({
    name: label, label, isNumber: true, value: run => figureAt(run, paths)?.[0] ?? null, cell: run => figureText(figureAt(run, paths)),
  })),
];

function runCell(run) {
  const name = run.report ? make("a", {href: run.report, textContent: run.path}) : make("button", {type: "button", textContent: run.path});
  if (!run.report) name.addEventListener("click", () => show(run));
  return make("div", {}, name, ...run.faults.map(fault => make("small", {className: "bad", textContent: ` ${fault}`})));
}

/** Ticks a run, and goes to its figures. */
function show(run) {
  tick(run, true);
  the("#side-by-side").scrollIntoView();
}

function tick(run, isOn) {
  ticked[isOn ? "add" : "delete"](run);
  run.box.checked = isOn;
  if (isOn) load(run);
  compare();
}

/** Loads the script with the percentiles of a run over time, once: a page that was opened from disk may not fetch. */
function load(run) {
  if (!run.moving || run.isAsked) return;
  run.isAsked = true;
  const script = make("script", {src: run.moving});
  for (const event of ["load", "error"]) script.addEventListener(event, draw);
  document.head.append(script);
}

function rowOf(run) {
  run.box = make("input", {type: "checkbox", ariaLabel: `Tick ${run.path}`});
  run.box.addEventListener("change", () => tick(run, run.box.checked));
  const cells = COLUMNS.map(column => make("td", {className: column.isNumber ? "n" : ""}, column.cell(run)));
  return make("tr", {}, make("td", {}, run.box), ...cells);
}

/** Runs in the chosen order; what has no value comes last, in either direction. */
function sorted(runs) {
  const column = COLUMNS.find(each => each.name === order.name), sign = order.descending ? -1 : 1;
  const value = column.value ?? (run => run[column.name] || null);
  const collator = new Intl.Collator("en", {numeric: true});
  return runs.map(run => [value(run), run]).sort(([one], [other]) => {
    if (one === null || other === null) return (one === null) - (other === null);
    return sign * (column.isNumber ? one - other : collator.compare(one, other));
  }).map(([, run]) => run);
}

function sortBy(name) {
  order.descending = order.name === name ? !order.descending : false;
  order.name = name;
  for (const head of all("#table th[data-name]"))
    head.ariaSort = head.dataset.name !== name ? "none" : order.descending ? "descending" : "ascending";
  the("#table tbody").replaceChildren(...sorted(site.runs).map(run => run.row));
}

function makeTable() {
  const heads = COLUMNS.map(({name, label, isNumber}) => {
    const button = make("button", {type: "button", textContent: label});
    button.addEventListener("click", () => sortBy(name));
    const head = make("th", {scope: "col", className: isNumber ? "n" : "", ariaSort: name === "created" ? "descending" : "none"}, button);
    head.dataset.name = name;
    return head;
  });
  for (const run of site.runs) run.row = rowOf(run);
  the("#table").append(make("thead", {}, make("tr", {}, make("td"), ...heads)), make("tbody", {}, ...site.runs.map(run => run.row)));
}

function makeFilters() {
  const form = the("#filters");
  for (const [name, label] of Object.entries(LABELS)) {
    const values = [...new Set(site.runs.map(run => run[name]))].filter(Boolean).sort();
    const options = values.map(value => make("option", {value, textContent: value}));
    form.append(make("label", {}, `${label} `, make("select", {name}, make("option", {value: "", textContent: "all"}), ...options)));
  }
  for (const [name, label] of [["from", "from"], ["to", "to"]])
    form.append(make("label", {}, `${label} `, make("input", {type: "date", name})));
  form.append(make("label", {}, "text ", make("input", {type: "search", name: "text"})));
  form.addEventListener("input", filter);
  form.addEventListener("submit", event => event.preventDefault());
}

/** Hides the runs that are not asked for. Days are those of UTC. */
function filter() {
  const wanted = Object.fromEntries(new FormData(the("#filters"))), text = wanted.text.toLowerCase();
  let count = 0;
  for (const run of site.runs) {
    const day = run.created.slice(0, 10);
    const isShown = Object.keys(LABELS).every(name => !wanted[name] || run[name] === wanted[name])
      && (!wanted.from || day >= wanted.from) && (!wanted.to || day <= wanted.to)
      && (!text || `${run.path} ${run.scenario} ${run.setting} ${run.versions}`.toLowerCase().includes(text));
    run.row.hidden = !isShown;
    count += isShown;
  }
  the("#counted").textContent = `${count} of ${site.runs.length} shown`;
}

/** What of a run can be opened, and how to make what is missing. */
function filesOf(run) {
  const links = [["report", run.report], ["result.json", run.result], ...run.csv.map(({name, address}) => [name, address]),
    ...(run.around ? [[run.around.name, run.around.address]] : [])];
  const shownLinks = links.filter(([, address]) => address).flatMap(([name, href]) => [make("a", {href, textContent: name}), " "]);
  const hint = run.hint ? [make("small", {textContent: "To write the report: "}), make("code", {textContent: run.hint})] : [];
  return make("div", {}, ...shownLinks, ...hint, ...run.faults.map(fault => make("small", {className: "bad", textContent: fault})));
}

/** A figure beside that of the first run: its text, its interval and the ratio. */
function besideCell(figure, first) {
  const cell = make("td", {className: "n"}, figureText(figure));
  if (figure?.[2]) cell.append(make("br"), make("small", {textContent: figure[2]}));
  if (figure && first && figure !== first && first[0] > 0) cell.append(make("br"), `${(figure[0] / first[0]).toPrecision(3)} x`);
  return cell;
}

function compare() {
  const runs = [...ticked], first = runs[0];
  const line = (label, cells) => make("tr", {}, make("th", {scope: "row", textContent: label}), ...cells);
  const facts = ["scenario", "setting", "machine", "category", "verdict", "created", "ending", "versions"]
    .map(name => line(name, runs.map(run => make("td", {textContent: run[name] || "-"}))));
  const figures = site.metrics.filter(({path}) => runs.some(run => run.figures[path])).map(({path, label, unit}) =>
    line(unit ? `${label}, ${unit}` : label, runs.map(run => besideCell(run.figures[path], first.figures[path]))));
  const heads = make("thead", {}, make("tr", {}, make("td"), ...runs.map(run => make("th", {scope: "col", textContent: run.path}))));
  const files = line("files", runs.map(run => make("td", {}, filesOf(run))));
  the("#ticked").replaceChildren(...(runs.length ? [heads, make("tbody", {}, files, ...facts, ...figures)] : []));
  the("#untick").disabled = !runs.length;
  draw();
}

const WINDOW_PERCENTILES = {p50: "p50", p99: "p99", p99_9: "p99.9"};
let ofWindow = "p99";

/** Percentiles of the ticked runs, over each other, and one of them in a moving window. */
function draw() {
  const runs = [...ticked];
  the("#drawn").replaceChildren(...(runs.length ? [percentiles(runs), movingWindow(runs)] : []));
}

/** The percentiles of the first latency that any of these runs has. */
function percentiles(runs) {
  const {label, paths} = site.curves.find(({paths}) => runs.some(run => figureAt(run, Object.values(paths)))) ?? site.curves[0];
  const lines = runs.map(run => ({
    name: run.path,
    points: Object.values(paths).map((path, x) => {
      const [y, , , doubt] = run.figures[path] ?? [null, "", "", null];
      return {x, y, isHollow: doubt !== null};
    }),
  }));
  const ticks = Object.keys(paths).map((text, x) => [x, text]);
  return linesFigure({title: `Percentiles, ${label}`, note: "Hollow: not believed.", unit: "ms", ticks, marks: true, lines});
}

function movingWindow(runs) {
  const choice = make("select", {ariaLabel: "Percentile in the moving window"},
    ...Object.entries(WINDOW_PERCENTILES).map(([value, textContent]) => make("option", {value, textContent, selected: value === ofWindow})));
  choice.addEventListener("input", () => {
    ofWindow = choice.value;
    draw();
    the("#drawn select").focus();
  });
  const lines = runs.map(run => {
    const moving = site.moving[run.path];
    return {
      name: moving ? `${run.path}, ${moving.label}` : run.path,
      points: (moving?.s ?? []).map((x, place) => ({x, y: moving[ofWindow][place]})),
    };
  });
  const note = "At the end of each second of the measure phase; only full windows of 10 s.";
  return linesFigure({title: "Latency in a moving window", choice, note, unit: "ms", xLabel: "s", lines});
}

the("#untick").addEventListener("click", () => [...ticked].forEach(run => tick(run, false)));
makeTable();
makeFilters();
filter();
compare();
addEventListener("resize", draw);
document.documentElement.dataset.figures = "drawn";
