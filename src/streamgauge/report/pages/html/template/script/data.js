// What the page was given: specifications of its figures, and the data that they share, column by column.

const given = id => JSON.parse(document.getElementById(id).textContent);
const {look, figures: drawings} = given("specs");
const data = given("data");

/** Rows of one data set of a figure, of the columns that this figure shows. */
function rows(figure, name) {
  const names = drawings[figure].names[name];
  const length = names.length ? data[name][names[0]].length : 0;
  return Array.from({length}, (_, at) => Object.fromEntries(names.map(column => [column, data[name][column][at]])));
}

// Names of data that are drawn behind figures.
const BEHIND = /^(phases|annotations|.*_causes)$/;

/** Rows of all data sets with such names, whatever figures show them, each once; none where the page has none. */
function rowsOf(wanted) {
  const found = Object.entries(drawings).flatMap(([figure, {names}]) =>
    Object.keys(names).filter(name => wanted.test(name)).flatMap(name => rows(figure, name)));
  return [...new Map(found.map(row => [JSON.stringify(row), row])).values()];
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
