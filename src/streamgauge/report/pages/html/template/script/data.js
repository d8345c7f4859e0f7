// What the page was given: specifications of its figures, and the data that they share, column by column.

const given = id => JSON.parse(document.getElementById(id).textContent);
const {look, figures: drawings} = given("specs");
const data = given("data");

const all = (selector, within = document) => [...within.querySelectorAll(selector)];

/** The first element that a selector finds. */
const the = (selector, within = document) => within.querySelector(selector);

/** An element with these properties and children; children are nodes or text. */
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Rows of one data set of a figure, of the columns that this figure shows. */
function rows(figure, name) {
  const names = drawings[figure].names[name];
  const length = names.length ? data[name][names[0]].length : 0;
  return Array.from({length}, (_, at) => Object.fromEntries(names.map(column => [column, data[name][column][at]])));
}

/** Rows of a data set whatever figure shows them; none where the page has none. */
function rowsOf(name) {
  const figure = Object.keys(drawings).find(each => name in drawings[each].names);
  return figure ? rows(figure, name) : [];
}

// Made once: a formatter takes longer to make than to use.
const few = new Intl.NumberFormat("en", {maximumSignificantDigits: 4}), large = new Intl.NumberFormat("en", {maximumFractionDigits: 0});

/** A number as people read it: few digits, thousands apart. */
function shown(value) {
  if (value === null || value === undefined) return "-";
  if (typeof value !== "number") return String(value);
  return (Math.abs(value) >= 1000 ? large : few).format(value);
}

/** The index of the value of a sorted list that is nearest to the wanted one. */
function nearest(sorted, wanted) {
  let low = 0, high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low > 0 && wanted - sorted[low - 1] <= sorted[low] - wanted ? low - 1 : low;
}
