// From the specification of a figure to the one that the page draws.
//
// A figure is made for any medium. The page has legends and tooltips of its own, which keyboards and screen readers
// reach, so its specification has none; and it has switches, which change scales and filter series.

const LOGARITHMIC = new Set(["log", "symlog"]);
const STACK_HEIGHT = 150;
const Y_EXTENT = 60;
const AXIS_ROOM = 80;
const LEAST_PANEL = 120;
// Labels of logarithmic axes; those outside of a scale are left out by it.
const LOG_TICKS = [-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9].flatMap(power => [1, 2, 5].map(each => each * 10 ** power));

/** Whether a chart consists of panels with axes of their own; these keep legends and tooltips of the library. */
const isPanels = spec => ["concat", "vconcat", "hconcat"].some(name => name in spec);

/** The parts of a chart that have marks. */
const unitsOf = spec => spec.layer ? spec.layer.flatMap(unitsOf) : [spec];

const markOf = unit => typeof unit.mark === "string" ? unit.mark : unit.mark.type;
const isNumbers = channel => channel?.field !== undefined && channel.type === "quantitative";
const hasEntries = channel => channel?.field !== undefined && channel.type !== "quantitative"
  && Array.isArray(channel.scale?.domain) && Array.isArray(channel.scale?.range);

/** Whether the values of a chart may be drawn on either scale: lines, points and lines across, but no bars. */
function canChangeScale(spec) {
  const drawn = isPanels(spec) ? [] : unitsOf(spec).filter(unit => unit.encoding?.y?.field !== undefined);
  return drawn.length > 0 && drawn.every(unit => isNumbers(unit.encoding.y) && !unit.encoding.y2
    && ["line", "point", "tick", "rule", "text"].includes(markOf(unit)));
}

const isLogarithmic = spec => unitsOf(spec).some(unit => LOGARITHMIC.has(unit.encoding?.y?.scale?.type));

/** Gives the values of a chart a linear or a logarithmic scale. */
function changeScale(spec, kind) {
  for (const unit of unitsOf(spec)) {
    const y = unit.encoding?.y;
    if (y?.field === undefined || LOGARITHMIC.has(y.scale?.type) === (kind === "logarithmic")) continue;
    y.scale = kind === "logarithmic" ? {type: "log", nice: false} : {zero: true};
    if (y.axis) delete y.axis.values;
    if (kind === "logarithmic") {
      // What is zero has no place on such a scale.
      const known = `datum[${JSON.stringify(y.field)}]`;
      unit.transform = [...unit.transform ?? [], {calculate: `${known} > 0 ? ${known} : null`, as: y.field}];
    }
  }
}

/** Round ticks at 1, 2 and 5, for the library would label 3, 4 and 6 as well. */
function roundTicks(spec) {
  for (const unit of unitsOf(spec))
    for (const channel of [unit.encoding?.x, unit.encoding?.y])
      if (channel?.field !== undefined && channel.scale?.type === "log" && !channel.axis?.values)
        channel.axis = {...channel.axis, values: LOG_TICKS};
}

/** Takes the library's legends and tooltips away; returns what is known of each part, by the name of its marks. */
function takeOver(spec) {
  const known = new Map();
  unitsOf(spec).forEach((unit, at) => {
    const encoding = unit.encoding ?? {}, color = encoding.color ?? encoding.fill ?? encoding.stroke;
    unit.name = `part${at}`;
    known.set(`part${at}_marks`, {...encoding, color, mark: markOf(unit), tips: encoding.tooltip, data: unit.data?.name});
    delete encoding.tooltip;
    // The library knows no dashes of areas, and would complain.
    if (markOf(unit) === "area") delete encoding.strokeDash;
    // The page has a legend of its own; what depends on the data stays.
    if ([encoding.opacity?.condition ?? []].flat().some(each => each.param)) delete encoding.opacity;
    for (const channel of ["color", "strokeDash", "shape"])
      if (hasEntries(encoding[channel])) encoding[channel].legend = null;
    if (hasEntries(color)) {
      const series = `datum[${JSON.stringify(color.field)}]`;
      unit.transform = [...unit.transform ?? [], {filter: `!shown || indexof(shown, ${series}) >= 0`}];
    }
  });
  spec.params = (spec.params ?? []).filter(each => each.bind !== "legend" && !each.select);
  spec.params.push({name: "shown", value: null});
  return known;
}

/** One of several charts on one time axis: lower, and without the axis but in the last. */
function stack(spec, isLast) {
  spec.height = STACK_HEIGHT;
  if (isLast) return;
  for (const unit of unitsOf(spec))
    if (unit.encoding?.x?.field !== undefined)
      unit.encoding.x = {...unit.encoding.x, title: null, axis: {...unit.encoding.x.axis, labels: false, title: null}};
}

/** Makes panels as wide as their place allows, with room for the labels of their axes. */
function fitPanels(spec, width) {
  const panels = spec.vconcat ?? spec.hconcat ?? spec.concat;
  const across = spec.vconcat ? 1 : spec.hconcat ? panels.length : Math.min(spec.columns ?? panels.length, panels.length);
  for (const panel of panels) panel.width = Math.max(LEAST_PANEL, Math.floor(width / across) - AXIS_ROOM);
}

/** The chart of a figure as the page draws it, and what is known of its parts. */
function pageSpec(drawing, {scale, stacked, isLast, width}) {
  const spec = structuredClone(drawing.spec);
  if (isPanels(spec)) {
    fitPanels(spec, width);
    return {spec, parts: new Map()};
  }
  if (scale && canChangeScale(spec)) changeScale(spec, scale);
  roundTicks(spec);
  if (stacked) stack(spec, isLast);
  return {spec, parts: takeOver(spec)};
}

/** The look of charts; plots over time begin at the same place, so that one can be read below the other. */
function lookOf(drawing) {
  const fixed = drawing.overTime ? {minExtent: Y_EXTENT, maxExtent: Y_EXTENT} : {};
  // A label at the very end would make its plot narrower than the others.
  const flush = drawing.overTime ? {labelFlush: 14} : {};
  return {...look, axisX: {...look.axisX, ...flush}, axisY: {...look.axisY, ...fixed}, line: {...look.line, strokeJoin: "round"}};
}

/** The entries of the legend of a chart: series with colour and dash, and signs with their shape. */
function entriesOf(parts) {
  const entries = new Map();
  for (const part of parts.values()) {
    if (hasEntries(part.color)) {
      const dashes = hasEntries(part.strokeDash) ? part.strokeDash.scale : null;
      part.color.scale.domain.forEach((name, at) => {
        const dash = dashes ? dashes.range[dashes.domain.indexOf(name)] : null;
        entries.set(name, {name, color: part.color.scale.range[at % part.color.scale.range.length], dash, mark: part.mark});
      });
    }
    if (hasEntries(part.shape))
      part.shape.scale.domain.forEach((name, at) => entries.set(name, {...entries.get(name), name, shape: part.shape.scale.range[at]}));
  }
  return [...entries.values()];
}
