// What scripts of all pages share: elements found and made, and numbers as people read them.

const all = (selector, within = document) => [...within.querySelectorAll(selector)];

/** The first element that a selector finds. */
const the = (selector, within = document) => within.querySelector(selector);

/** An element with these properties and children; children are nodes or text. */
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// Made once: a formatter takes longer to make than to use.
const few = new Intl.NumberFormat("en", {maximumSignificantDigits: 4}), large = new Intl.NumberFormat("en", {maximumFractionDigits: 0});

/** A number as people read it: few digits, thousands apart. */
function shown(value) {
  if (value === null || value === undefined) return "-";
  if (typeof value !== "number") return String(value);
  return (Math.abs(value) >= 1000 ? large : few).format(value);
}
