// SPDX-License-Identifier: Apache-2.0
// Elements of the page. Text goes in as text, never as markup: this page has no innerHTML.

/** An element with attributes, listeners (`onclick: …`) and children; strings become text. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** A closed "Data" below a drawing; what it shows is made when it is opened first. */
function dataBelow(makeTable) {
  const details = element("details", { class: "data" }, element("summary", {}, "Data"));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(makeTable());
  });
  return details;
}

/** Calls `draw(width)` now and whenever the width of the element has changed. */
function drawToWidth(holder, draw) {
  let last = 0;
  const drawn = () => {
    const width = Math.floor(holder.clientWidth);
    if (width > 0 && width !== last) draw((last = width));
  };
  new ResizeObserver(drawn).observe(holder);
  drawn();
}

/** The value of a custom property of the style sheet, as the theme has it now. */
function themeValue(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
