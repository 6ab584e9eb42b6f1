// SPDX-License-Identifier: Apache-2.0
// Tables that sort by any column and filter by any text. A page of rows is in the document at a time, so that tables of
// 50,000 rows answer at once.

const ROWS_PER_PAGE = 50;
const ROWS_IN_PRINT = 500;
const ROWS_AT_A_GLANCE = 5; // so few need no filter
const collator = new Intl.Collator("en", { numeric: true });
const tablesOnPage = [];

/** Numbers by value, before texts in the order people expect ("node-2" before "node-10"); what is missing comes last. */
function compareCells(a, b, direction) {
  if (a === null || b === null) return (a === null ? 1 : 0) - (b === null ? 1 : 0);
  if (typeof a === "number" && typeof b === "number") return direction * (a - b);
  if (typeof a !== typeof b) return direction * (typeof a === "number" ? -1 : 1);
  return direction * collator.compare(a, b);
}

/** A spreadsheet must not take a name for a formula. */
function csvCell(value) {
  if (value === null) return "";
  const text = typeof value === "string" && /^[=+\-@]/.test(value) ? `'${value}` : String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

class SortedTable {
  /** `data`: title, columns with title and unit, rows. */
  constructor(data) {
    this.data = data;
    this.isNumeric = data.columns.map((_, place) => data.rows.some((row) => typeof row[place] === "number"));
    this.shown = data.rows;
    this.sortedBy = null;
    this.direction = 1;
    this.page = 0;
    this.perPage = ROWS_PER_PAGE;
    this.searched = null;
    this.root = this.makeElements();
    this.fill();
    tablesOnPage.push(this);
  }

  makeElements() {
    this.heads = this.data.columns.map((column, place) =>
      element("th", { scope: "col", class: this.isNumeric[place] ? "number" : null },
        element("button", { type: "button", onclick: () => this.sortBy(place) }, column.title)));
    this.body = element("tbody");
    this.count = element("span", { class: "count", role: "status" });
    this.filter = element("input", { type: "search", placeholder: "filter rows", "aria-label": `Filter rows of ${this.data.title}`,
      oninput: () => this.filterBy(this.filter.value) });
    this.back = element("button", { type: "button", onclick: () => this.turn(-1), "aria-label": "Page before" }, "‹");
    this.forth = element("button", { type: "button", onclick: () => this.turn(1), "aria-label": "Next page" }, "›");
    const save = element("button", { type: "button", onclick: () => this.save() }, "CSV");
    const table = element("table", { "aria-label": this.data.title }, element("thead", {}, element("tr", {}, ...this.heads)), this.body);
    return element("div", { class: "table" },
      element("div", { class: "controls", hidden: this.data.rows.length <= ROWS_AT_A_GLANCE }, this.filter, this.count, this.back, this.forth, save),
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": this.data.title }, table));
  }

  sortBy(place) {
    this.direction = this.sortedBy === place ? -this.direction : this.isNumeric[place] ? -1 : 1;
    this.sortedBy = place;
    this.heads.forEach((head, at) => head.setAttribute("aria-sort",
      at !== place ? "none" : this.direction > 0 ? "ascending" : "descending"));
    this.arrange();
  }

  /** Rows in which every word is found, in any column, as the reader sees it. */
  filterBy(text) {
    this.words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.searched ??= this.data.rows.map((row) =>
      row.map((cell, place) => formatted(cell, this.data.columns[place].unit)).join("\u0001").toLowerCase());
    this.arrange();
  }

  arrange() {
    const words = this.words ?? [];
    this.shown = words.length === 0 ? [...this.data.rows]
      : this.data.rows.filter((_, at) => words.every((word) => this.searched[at].includes(word)));
    const place = this.sortedBy;
    if (place !== null) this.shown.sort((a, b) => compareCells(a[place], b[place], this.direction));
    this.page = 0;
    this.fill();
  }

  turn(pages) {
    this.page += pages;
    this.fill();
  }

  fill() {
    const first = this.page * this.perPage;
    const rows = this.shown.slice(first, first + this.perPage);
    this.body.replaceChildren(...rows.map((row) => element("tr", {}, ...row.map((cell, place) => this.cell(cell, place)))));
    const all = this.data.rows.length;
    const filtered = this.shown.length < all ? `${whole.format(this.shown.length)} of ${counted(all, "row")}` : counted(all, "row");
    const part = rows.length < this.shown.length ? `, ${whole.format(first + 1)}–${whole.format(first + rows.length)}` : "";
    this.count.textContent = filtered + part;
    this.back.disabled = this.page === 0;
    this.forth.disabled = first + rows.length >= this.shown.length;
    this.back.hidden = this.forth.hidden = this.shown.length <= this.perPage;
  }

  cell(value, place) {
    const text = formatted(value, this.data.columns[place].unit);
    return element("td", { class: this.isNumeric[place] ? "number" : text.length > 60 ? "long" : null }, text);
  }

  /** All rows that are shown, on any page, as a file. */
  save() {
    const lines = [this.data.columns.map((column) => column.title), ...this.shown].map((row) => row.map(csvCell).join(","));
    const address = URL.createObjectURL(new Blob([lines.join("\r\n") + "\r\n"], { type: "text/csv" }));
    element("a", { href: address, download: `${this.data.title.replace(/[^\w-]+/g, "-").toLowerCase() || "table"}.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  resize(perPage) {
    this.perPage = perPage;
    this.page = 0;
    this.fill();
  }
}

addEventListener("beforeprint", () => tablesOnPage.forEach((table) => table.resize(ROWS_IN_PRINT)));
addEventListener("afterprint", () => tablesOnPage.forEach((table) => table.resize(ROWS_PER_PAGE)));
