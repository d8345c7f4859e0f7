// A figure on the page: it is drawn, drawn again after a switch, and tells what stands at a place of it.

const plots = new Map();
const WORDS = {kind: ["response", "service"], path: ["end-to-end", "ack"]};

/** A figure, from its place in the page. */
class Plot {
  constructor(place) {
    this.place = place;
    this.name = place.dataset.figure;
    this.figure = place.closest("figure");
    this.stacked = place.closest(".stack") !== null;
    this.own = {};
    this.isolated = new Set();
    this.drawn = false;
  }

  /** The specification that the switches choose: the figure's own, or that of one which takes its place. */
  get drawing() {
    const variants = drawings[this.name].variants ?? {};
    for (const [about, others] of Object.entries(variants)) {
      const other = others[this.choice(about)];
      if (other && drawings[other]) return drawings[other];
    }
    return drawings[this.name];
  }

  get source() { return Object.keys(drawings).find(name => drawings[name] === this.drawing); }

  /** What was chosen for this figure, or for all. */
  choice(about) { return this.own[about] ?? choices[about]; }

  /** Whether it consists of panels that were drawn for another width; what is folded has none. */
  get hasOtherWidth() {
    const width = this.place.clientWidth;
    return isPanels(this.drawing.spec) && width > 0 && width !== this.forWidth;
  }

  /**
   * Draws the figure. Panels that are wider than their place, because of names at their marks, are drawn again without
   * the surplus: a few times, for a name that begins in the middle moves by half of it.
   */
  async draw(surplus = 0, again = 4) {
    this.drawn = true;
    this.forWidth = this.place.clientWidth;
    const {drawing, source} = this, kind = this.choice("scale");
    const stack = all("[data-figure]", this.figure.parentElement);
    const isLast = this.place === stack.at(-1);
    const {spec, parts} = pageSpec(drawing, {
      scale: kind === "own" ? null : kind, stacked: this.stacked, isLast, width: this.forWidth - surplus,
    });
    const datasets = Object.fromEntries(Object.keys(drawing.names).map(name => [name, rows(source, name)]));
    const options = {renderer: "svg", actions: false, ast: true, config: lookOf(drawing)};
    const canvas = make("div", {className: "canvas"});
    this.embedded?.finalize();
    the(".canvas", this.place)?.remove();
    this.place.prepend(canvas);
    this.embedded = await vegaEmbed(canvas, {...spec, datasets}, options);
    this.view = this.embedded.view;
    const svg = the("svg", canvas), over = Math.ceil(svg.viewBox.baseVal.width - this.forWidth);
    if (isPanels(spec) && over > 0 && again) return this.draw(surplus + over, again - 1);
    svg.setAttribute("aria-hidden", "true");
    // To find what of a drawing lies below the pointer takes long, and nobody wants to know but figures of panels.
    canvas.style.pointerEvents = parts.size ? "none" : "";
    this.parts = parts;
    this.entries = entriesOf(parts);
    this.series = this.entries.filter(each => each.color).map(each => each.name);
    this.isolated = new Set([...this.isolated].filter(name => this.series.includes(name)));
    this.isOverTime = drawing.overTime;
    this.read();
    await this.filter();
    if (this.isOverTime && zoom) await this.show(zoom);
    this.place.dataset.drawn = "yes";
  }

  /** Takes from the drawn marks what tooltips tell, so that no move of a pointer has to ask the library. */
  read() {
    this.lines = new Map();
    this.labels = new Map();
    this.cells = [];
    const visit = mark => {
      const part = this.parts.get(mark.name);
      if (part) this.readMarks(part, mark.items);
      else for (const item of mark.items) for (const inner of item.items ?? []) visit(inner);
    };
    visit(this.view.scenegraph().root);
    const keys = new Set();
    for (const line of this.lines.values()) {
      line.points.sort((one, other) => one.key - other.key);
      line.keys = line.points.map(point => point.key);
      line.keys.forEach(key => keys.add(key));
      for (const {key, label} of line.points) if (label !== null) this.labels.set(key, label);
    }
    this.keys = [...keys].sort((one, other) => one - other);
    this.measure();
  }

  readMarks(part, items) {
    const {x, y, x2, y2, color, mark, tips} = part;
    if (!["line", "area", "bar", "point", "tick", "rect"].includes(mark) || x?.field === undefined || y?.field === undefined)
      return;
    const across = !isNumbers(x), down = !isNumbers(y);
    if ((x2 && y2) || (mark === "rect" && (x2 || y2)) || (across && down)) {
      for (const item of items) this.cells.push({item, part});
      return;
    }
    if (x2 && mark === "bar") return;
    // What is told is the number; where it is told is the other channel.
    const value = down ? x : y, place = down ? y : x;
    this.isDown = down;
    const title = unitOf(value.title ?? value.field);
    for (const item of items) {
      const key = across ? item.x + (item.width ?? 0) / 2 : down ? item.y + (item.height ?? 0) / 2 : item.datum[place.field];
      const label = across || down ? String(item.datum[place.field]) : null;
      const named = color?.field !== undefined ? [[item.datum[color.field], item.datum[value.field], title]]
        : (tips ?? []).filter(tip => tip.field !== place.field).map(tip => [tip.title ?? tip.field, item.datum[tip.field], ""]);
      if (!named.length) named.push([value.title ?? value.field, item.datum[value.field], title]);
      for (const [name, told, unit] of named) {
        const known = this.lines.get(name) ?? this.lines.set(name, {name, unit, points: [], color: item.stroke ?? item.fill}).get(name);
        known.points.push({key, value: told, label});
      }
    }
  }

  /** Where the plot is within its place, and the time that it shows; read again where that changes. */
  measure() {
    const origin = this.view.origin(), padding = this.view.padding();
    this.left = origin[0] + padding.left;
    this.top = origin[1] + padding.top;
    this.width = this.view.width();
    this.height = this.view.height();
    this.scale = this.scaleOf("x");
    // Set here and not at each move: a height means a new layout.
    this.cross.style.height = `${this.height}px`;
  }

  scaleOf(name) {
    try { return this.view.scale(name); } catch { return null; }
  }

  /** Pixels of a key from the left of the plot, or from its top in charts that lie on their side. */
  pixel(key) {
    if (this.isDown || !this.scale?.invert) return key;
    return this.scale(key);
  }

  /** The index of the key that is nearest to a place in the plot; -1 where the chart has none. */
  at(x, y) {
    if (!this.keys?.length) return -1;
    if (this.isDown) return nearest(this.keys, y);
    return nearest(this.keys, this.scale?.invert ? this.scale.invert(x) : x);
  }

  /** What stands at a key: a title, each series with its value and unit, and what was around. */
  told(key) {
    const label = this.labels.get(key) ?? null, found = [];
    for (const {name, unit, points, keys, color} of this.lines.values()) {
      if (!points.length) continue;
      const point = points[nearest(keys, key)], near = Math.abs(point.key - key) <= this.tolerance(keys);
      // What has a name has no neighbours: a series may have several values there, or none.
      const here = label === null ? [near || !this.isOverTime ? point : {value: null}] : points.filter(each => each.label === label);
      found.push(...here.map(({value}) => ({name, unit, color, value})));
    }
    if (this.isDown) found.sort((one, other) => this.series.indexOf(one.name) - this.series.indexOf(other.name));
    const around = this.isOverTime ? causesAt(key) : this.isDown ? this.cells.filter(cell => isAt(cell, key)).flatMap(toldBy) : [];
    const title = label ?? (this.isOverTime ? secondWords(key) : `${shown(key)} ${unitOf(this.title)}`);
    return {title, found, around: around.map(each => each.value ?? each)};
  }

  /** How far from a time a value may be and still be the value of that time. */
  tolerance(keys) {
    if (!this.isOverTime || keys.length < 2) return Infinity;
    return Math.max(0.5, 0.51 * (keys.at(-1) - keys[0]) / (keys.length - 1));
  }

  /** What a cell of a heat map tells, at a place in the plot; null outside of cells. */
  cellAt(x, y) {
    const cell = this.cells.find(({item}) => {
      const {x1, y1, x2, y2} = item.bounds;
      return x >= x1 && x <= x2 && y >= y1 && y <= y2;
    });
    if (!cell) return null;
    return {title: "", found: toldBy(cell)};
  }

  /** The title of the horizontal axis. */
  get title() { return [...this.parts.values()].map(part => part.x?.title).find(Boolean) ?? ""; }

  /** Shows the series that switches and legend choose. */
  async filter() {
    if (!this.parts.size) return;
    const chosen = this.series.filter(name => this.isChosen(name));
    const next = chosen.length === this.series.length ? null : chosen;
    if (JSON.stringify(next) === JSON.stringify(this.view.signal("shown"))) return;
    await this.view.signal("shown", next).runAsync();
    this.read();
  }

  isChosen(name) {
    if (this.isolated.size) return this.isolated.has(name);
    return Object.keys(WORDS).every(about => !this.has(about) || this.choice(about) === "both" || name.includes(this.choice(about))
      || !WORDS[about].some(word => name.includes(word)));
  }

  /** Whether the figure has series of both sides of a switch. */
  has(about) { return WORDS[about].every(word => this.series.some(name => name.includes(word))); }

  /** Shows a part of the time. */
  async show([from, to]) {
    await this.view.signal("time_from", from).signal("time_to", to).runAsync();
    this.measure();
  }
}

/** What a cell tells, by its tooltip. */
const toldBy = ({item, part}) => (part.tips ?? []).map(tip => ({name: tip.title ?? tip.field, unit: "", value: item.datum[tip.field]}));

/** Whether a cell of a chart that lies on its side is in the lane of a key. */
const isAt = ({item}, key) => item.bounds.y1 <= key && key <= item.bounds.y2;

/** The unit in an axis title: what follows its last comma, or all of it. */
const unitOf = title => (Array.isArray(title) ? title.join(" ") : title).split(", ").at(-1);

const phaseRows = rowsOf(/^phases$/), causeRows = rowsOf(/^annotations$|_causes$/);

/** A second of the run in words, and the phase that it is in. */
function secondWords(second) {
  const phase = phaseRows.find(each => each.from <= second && second < each.to);
  return `second ${shown(second)}${phase ? `, ${phase.phase === "warmup" ? "warm-up" : phase.phase}` : ""}`;
}

/** What was done or happened within half a second. */
const causesAt = second => causeRows.filter(each => each.from <= second + 1 && second - 0.5 <= each.to).map(each => each.what);
