"use strict";
// What is seen of a wrong result: a map of its wrong elements, and the first of them with their bits.

function make(name, attributes = {}, ...children) {
  const svg = ["svg", "rect", "title"].includes(name);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// The side of a cell's square says how many of its elements are wrong, so that no colour is needed.
const SIDES = { ".": 0, "-": 0.45, "+": 0.7, "#": 1 };

// [[M, N], [rows, columns of a cell], ["....####*16", ...]], equal rows written once and counted.
function drawPicture([size, cell, packed], where) {
  const rows = packed.flatMap((text) => {
    const [marks, count] = text.split("*");
    return Array(Math.min(Number(count || 1), 64)).fill(marks);
  });
  const columns = Math.max(1, ...rows.map((marks) => marks.length));
  const [wide, high] = [columns, rows.length].map((count) => Math.min(20, Math.max(8, 256 / count)));
  const told = `wrong elements${where ? ` in ${where}` : ""}, of a result of ${size[0]} rows and ${size[1]} columns`;
  const svg = make("svg", {
    role: "img", width: columns * wide, height: rows.length * high, "aria-label": told,
    viewBox: `0 0 ${columns * wide} ${rows.length * high}`,
  }, make("title", {}, told));
  rows.forEach((marks, row) => [...marks].forEach((mark, column) => {
    const side = SIDES[mark] || 0;
    const [x, y] = [(column + (1 - side) / 2) * wide, (row + (1 - side) / 2) * high];
    if (side) svg.append(make("rect", { x, y, width: side * wide, height: side * high }));
  }));
  const axes = make("div", { class: "axes" },
    make("span"), make("span", {}, "columns N →"), make("span", { class: "rows" }, "← rows M"), svg);
  const key = `${where ? `Wrong: ${where}. ` : ""}The result is ${size[0]} × ${size[1]}, a cell ${cell[0]} × ${cell[1]}; where it is full, all of its elements are wrong, else half or more, or fewer.`;
  return make("figure", { class: "picture" }, axes, make("figcaption", {}, key));
}

function listFirst(elements) {
  const head = ["row", "column", "came", "bits", "right", "bits"].map((name) => make("th", { scope: "col" }, name));
  const body = elements.map((cells) => make("tr", {},
    ...cells.map((cell, place) => make("td", place > 1 ? { class: "hex" } : {}, String(cell)))));
  const table = make("table", {}, make("caption", {}, "first wrong elements"),
    make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
  return make("div", { class: "box first", tabindex: 0, role: "region", "aria-label": "first wrong elements" }, table);
}
