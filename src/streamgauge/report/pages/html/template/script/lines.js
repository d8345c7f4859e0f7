// A small figure of lines, drawn as SVG, for pages that have no library.

const HUES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#c8161f", "#9582ff", "#666666"];
const HEIGHT = 230, EDGE = {left: 56, right: 14, top: 10, bottom: 30};
const MOST_TICKS = 7;

/** An element of SVG with these attributes and children. */
function draws(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Round values between two ends, a few of them: 1, 2 and 5 times powers of ten. */
function logTicks(low, high) {
  const powers = Array.from({length: 40}, (_, place) => place - 20);
  const between = factors => powers.flatMap(power => factors.map(factor => factor * 10 ** power)).filter(each => each >= low && each <= high);
  const found = [[1, 2, 5], [1, 3], [1]].map(between).find(each => each.length <= MOST_TICKS) ?? between([1]);
  return found.length > 1 ? found : [low, high];
}

function linearTicks(low, high) {
  const least = (high - low || 1) / (MOST_TICKS - 1), power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(each => each >= least);
  const first = Math.ceil(low / step);
  return Array.from({length: Math.floor(high / step) - first + 1}, (_, place) => (first + place) * step);
}

/** A scale from values to places: of logarithms, unless a value is 0. */
function scaleOf(values, from, to) {
  let [low, high] = values.length ? [Math.min(...values), Math.max(...values)] : [1, 1];
  const isLog = low > 0;
  if (low === high) [low, high] = isLog ? [low / 2, high * 2] : [0, high || 1];
  const at = isLog ? Math.log : value => value;
  const place = value => from + (to - from) * (at(value) - at(low)) / (at(high) - at(low));
  return {place, ticks: (isLog ? logTicks : linearTicks)(low, high)};
}

/** Parts of a line between the points that are not known. */
function pathOf(points, x, y) {
  const isKnown = at => (points[at]?.y ?? null) !== null;
  return points.map((point, at) =>
    isKnown(at) ? `${isKnown(at - 1) ? "L" : "M"}${x(point.x).toFixed(1)} ${y(point.y).toFixed(1)}` : "").join("");
}

const dashOf = place => place < HUES.length ? "none" : "5 3";

/** What belongs to a line, in words: its name, and from what to what it goes. */
function rangeOf({name, points}, unit) {
  const values = points.map(point => point.y).filter(value => value !== null);
  if (!values.length) return `${name}: not known`;
  const [low, high] = [Math.min(...values), Math.max(...values)].map(shown);
  return `${name}: ${low === high ? low : `${low} to ${high}`} ${unit}`;
}

/** A figure of lines `{name, points: [{x, y, isHollow}]}`; `ticks` are `[x, text]`, else those of numbers. */
function linesFigure({title, choice, note, unit, ticks, xLabel, marks, lines}) {
  const width = Math.max(280, Math.min(720, the("#drawn").clientWidth)), right = width - EDGE.right, bottom = HEIGHT - EDGE.bottom;
  const points = lines.flatMap(line => line.points), xs = ticks ? ticks.map(([x]) => x) : points.map(point => point.x);
  const [first, last] = xs.length ? [Math.min(...xs), Math.max(...xs)] : [0, 1], inset = ticks ? 20 : 0;
  const x = value => EDGE.left + inset + (right - EDGE.left - 2 * inset) * (value - first) / (last - first || 1);
  const {place: y, ticks: yTicks} = scaleOf(points.map(point => point.y).filter(value => value !== null), bottom, EDGE.top);
  const rule = (x1, y1, x2, y2) => draws("line", {x1, y1, x2, y2, class: "rule"});
  const text = (x, y, anchor, content) => draws("text", {x, y, "text-anchor": anchor}, content);
  const xTicks = ticks ?? linearTicks(first, last).map(value => [value, shown(value)]);
  const svg = draws("svg", {width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": [title, ...lines.map(line => rangeOf(line, unit))].join("; ")},
    ...yTicks.flatMap(value => [rule(EDGE.left, y(value), right, y(value)), text(EDGE.left - 6, y(value) + 4, "end", shown(value))]),
    ...xTicks.map(([value, label]) => text(x(value), bottom + 18, "middle", xLabel ? `${label} ${xLabel}` : label)),
    ...lines.flatMap(({points}, place) => [
      draws("path", {d: pathOf(points, x, y), stroke: HUES[place % HUES.length], "stroke-dasharray": dashOf(place), class: "drawn"}),
      ...points.filter((point, at) => point.y !== null && (marks || isAlone(points, at))).map(point => draws("circle", {
        cx: x(point.x), cy: y(point.y), r: 3.5, stroke: HUES[place % HUES.length], class: point.isHollow ? "hollow" : "", fill: HUES[place % HUES.length],
      })),
    ]));
  const legend = lines.map((line, place) => make("li", {}, sample(place), ` ${rangeOf(line, unit)}`));
  const caption = make("figcaption", {}, make("strong", {textContent: `${title}, ${unit} `}), ...(choice ? [choice] : []), make("small", {textContent: ` ${note}`}));
  return make("figure", {className: "lines"}, caption, svg, make("ul", {}, ...legend));
}

/** Whether a point has no neighbour to draw a line to. */
const isAlone = (points, at) => [at - 1, at + 1].every(place => (points[place]?.y ?? null) === null);

function sample(place) {
  return draws("svg", {width: 22, height: 10, "aria-hidden": "true"},
    draws("path", {d: "M0 5H22", stroke: HUES[place % HUES.length], "stroke-dasharray": dashOf(place), class: "drawn"}));
}
