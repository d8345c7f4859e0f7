// A figure as a file: PNG and SVG with legend and title, in the colours that are seen; CSV of its data.

const PNG_SCALE = 2;
const EXPORT_WIDTH = 960;

/** A value with each colour of the page in it resolved: no file knows the page's variables. */
function resolved(value, style) {
  if (Array.isArray(value)) return value.map(each => resolved(each, style));
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolved(each, style)]));
  if (value === "currentColor") return style.color;
  const variable = typeof value === "string" && /^var\((--[\w-]+)\)$/.exec(value);
  return variable ? colorOf(variable[1]) : value;
}

/** The colour that a variable of the page stands for now. */
function colorOf(variable) {
  const probe = make("span");
  probe.style.color = `var(${variable})`;
  document.body.append(probe);
  const {color} = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Draws a figure once more, whole: with its legend, its title, and the series and the time that are shown. */
async function wholeView(plot) {
  const {drawing, source} = plot, style = getComputedStyle(document.body), kind = plot.choice("scale");
  const spec = structuredClone(drawing.spec);
  if (kind !== "own" && canChangeScale(spec)) changeScale(spec, kind);
  if (!isPanels(spec)) {
    roundTicks(spec);
    spec.width = EXPORT_WIDTH;
    delete spec.autosize;
    const chosen = plot.series.filter(name => plot.isChosen(name));
    if (chosen.length < plot.series.length) keepSeries(spec, chosen);
    for (const param of spec.params ?? []) {
      if (zoom && param.name === "time_from") param.value = zoom[0];
      if (zoom && param.name === "time_to") param.value = zoom[1];
    }
  }
  const datasets = Object.fromEntries(Object.keys(drawing.names).map(name => [name, rows(source, name)]));
  const config = {...look, background: colorOf("--paper")};
  const whole = resolved({...spec, title: drawing.title, config}, style);
  const place = make("div");
  return vegaEmbed(place, {...whole, datasets}, {renderer: "svg", actions: false, ast: true});
}

/** Leaves only some series in a chart and its legend. */
function keepSeries(spec, chosen) {
  for (const unit of unitsOf(spec)) {
    const {color, strokeDash} = unit.encoding ?? {};
    if (!hasEntries(color)) continue;
    unit.transform = [...unit.transform ?? [], {filter: {field: color.field, oneOf: chosen}}];
    for (const channel of [color, strokeDash])
      if (hasEntries(channel)) {
        const kept = channel.scale.domain.map((name, at) => [name, channel.scale.range[at]]).filter(([name]) => chosen.includes(name));
        channel.scale = {...channel.scale, domain: kept.map(([name]) => name), range: kept.map(([, value]) => value)};
      }
  }
}

function save(blob, name) {
  const link = make("a", {href: URL.createObjectURL(blob), download: name});
  document.body.append(link);
  link.click();
  link.remove();
  // The browser has begun to read by the next turn of its loop; a minute is ample.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** A cell of a CSV file, quoted where it has to be (RFC 4180). */
function cell(value) {
  const text = String(value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csv(figure, name) {
  const {[name]: names} = drawings[figure].names;
  const lines = rows(figure, name).map(row => names.map(column => cell(row[column])).join(","));
  return [names.map(cell).join(","), ...lines].join("\r\n") + "\r\n";
}

/** Names of the data that a figure has as tables. */
const tablesOf = plot => Object.keys(plot.drawing.names).filter(name => !BEHIND.test(name));

const SAVERS = {
  async PNG(plot) {
    const embedded = await wholeView(plot);
    const canvas = await embedded.view.toCanvas(PNG_SCALE);
    embedded.finalize();
    return new Promise(done => canvas.toBlob(done, "image/png"));
  },
  async SVG(plot) {
    const embedded = await wholeView(plot);
    const text = await embedded.view.toSVG();
    embedded.finalize();
    return new Blob([text], {type: "image/svg+xml"});
  },
  async CSV(plot) {
    return new Blob([csv(plot.source, tablesOf(plot)[0])], {type: "text/csv"});
  },
};

/** A table of some data of a figure. */
function tableOf(plot, name) {
  const found = rows(plot.source, name);
  const table = make("table"), names = plot.drawing.names[name];
  const line = (parent, cells, kind) => {
    const row = parent.insertRow();
    for (const each of cells) {
      const made = row.appendChild(make(kind, {textContent: each ?? ""}));
      if (kind === "th") made.scope = "col";
      else if (typeof each === "number") made.className = "n";
    }
  };
  line(table.createTHead(), names, "th");
  const body = table.createTBody();
  for (const row of found) line(body, names.map(each => row[each]), "td");
  const place = make("div", {className: "wide rows", tabIndex: 0}, table);
  place.dataset.rows = name;
  place.setAttribute("role", "region");
  place.setAttribute("aria-label", `Data of ${plot.drawing.title}: ${name.replaceAll("_", " ")}`);
  return place;
}

const areTablesShown = plot => the("[data-rows]", plot.figure) !== null;

/** Shows the tables of what a figure draws now, made when somebody asks for them, or takes them away. */
function showTables(plot, isShown) {
  for (const place of all("[data-rows]", plot.figure)) place.remove();
  if (isShown) plot.figure.append(...tablesOf(plot).filter(name => plot.drawing.names[name].length).map(name => tableOf(plot, name)));
}

/** Buttons that save a figure, and one for its data as a table. */
function savingOf(plot) {
  const {title} = plot.drawing;
  const buttons = Object.keys(SAVERS).map(kind => {
    const button = make("button", {type: "button", textContent: kind, title: `Save this figure as ${kind}`});
    button.setAttribute("aria-label", `${kind}: save ${title}`);
    button.addEventListener("click", async () => save(await SAVERS[kind](plot), `${plot.source}.${kind.toLowerCase()}`));
    return button;
  });
  const table = make("button", {type: "button", textContent: "Table", title: "The data of this figure as a table"});
  table.setAttribute("aria-expanded", String(areTablesShown(plot)));
  table.setAttribute("aria-label", `Table of ${title}`);
  table.addEventListener("click", () => {
    showTables(plot, !areTablesShown(plot));
    table.setAttribute("aria-expanded", String(areTablesShown(plot)));
  });
  return [...buttons, table];
}
