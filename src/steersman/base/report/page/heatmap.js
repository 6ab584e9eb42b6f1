// SPDX-License-Identifier: Apache-2.0
// Heat maps: a square per node on a canvas, groups as blocks, before and after side by side. 5,000 nodes are drawn in milliseconds.

const LARGEST_SQUARE = 20;
const SMALLEST_SQUARE = 6;
const GROUP_HEAD = 20;
const GROUP_GAP = 14;
const WIDE = 760;
const STOPS = 7;
const NODES_AT_A_GLANCE = 12; // so few need no search and no order

function heatColours() {
  return Array.from({ length: STOPS }, (_, at) => themeValue(`--heat-${at}`).match(/[0-9a-f]{2}/gi).map((part) => parseInt(part, 16)));
}

/** The colour of a value from 0 to 1 between the stops; more than 1 is more than a node has. */
function heatColour(value, stops) {
  if (value > 1.0001) return themeValue("--over");
  const place = Math.max(0, Math.min(1, value)) * (STOPS - 1);
  const low = Math.min(Math.floor(place), STOPS - 2);
  const mixed = stops[low].map((part, at) => Math.round(part + (stops[low + 1][at] - part) * (place - low)));
  return `rgb(${mixed.join(",")})`;
}

/** Squares as large as fit about a screen: the side in pixels. */
function squareSide(count, width) {
  const side = Math.floor(Math.sqrt((width * 520) / Math.max(count, 1)));
  return Math.max(SMALLEST_SQUARE, Math.min(LARGEST_SQUARE, side));
}

/** Where every node is: groups as blocks from left to right. Returns squares by node, heads, and the height. */
function arrangeNodes(groups, width, side) {
  const squares = [];
  const heads = [];
  let [x, y, lineHeight] = [0, 0, 0];
  for (const [name, members] of groups) {
    const isOnly = groups.size === 1;
    const most = Math.max(1, Math.floor(width / side));
    const across = isOnly || members.length > 3 * most ? most
      : Math.min(most, Math.max(Math.ceil(Math.sqrt(members.length * 2.4)), Math.ceil(150 / side)));
    const blockWidth = across * side;
    if (x > 0 && x + blockWidth > width) [x, y, lineHeight] = [0, y + lineHeight + GROUP_GAP, 0];
    const top = isOnly ? y : y + GROUP_HEAD;
    if (!isOnly) heads.push({ name, members, x, y, width: blockWidth });
    members.forEach((node, at) => (squares[node] = [x + (at % across) * side, top + Math.floor(at / across) * side]));
    lineHeight = Math.max(lineHeight, top - y + Math.ceil(members.length / across) * side);
    x += blockWidth + GROUP_GAP;
  }
  return { squares, heads, height: y + lineHeight };
}

class HeatMapView {
  constructor(holder, data) {
    this.data = data;
    this.values = data.after === null ? [data.before] : [data.before, data.after];
    this.titles = data.after === null ? [""] : ["Before", "After"];
    this.found = null;
    this.focus = -1;
    this.tip = element("div", { class: "tip", role: "status", hidden: true });
    this.canvases = this.values.map((values, panel) => this.makeCanvas(values, panel));
    this.panels = element("div", { class: "panels" }, ...this.canvases.map((canvas, panel) =>
      element("figure", {}, element("figcaption", {}, this.caption(panel)), canvas)));
    this.legend = element("canvas", { width: 160, height: 12, "aria-hidden": "true" });
    holder.append(this.makeControls(), this.panels, this.tip, dataBelow(() => new SortedTable(this.table()).root));
    this.order("name");
    drawToWidth(this.panels, (width) => this.drawTo(width));
  }

  makeControls() {
    const find = element("input", { type: "search", placeholder: "find nodes", "aria-label": `Find nodes of ${this.data.title}`,
      oninput: () => this.find(find.value) });
    const orders = [["name", "name"], ["before", this.data.after === null ? "value" : "value before"]];
    if (this.data.after !== null) orders.push(["after", "value after"], ["change", "change"]);
    const order = element("select", { onchange: () => { this.order(order.value); this.draw(); } },
      ...orders.map(([value, text]) => element("option", { value }, text)));
    this.absent = this.values.some((values) => values.includes(null));
    const marks = [element("span", { class: "scale" }, "0 %", this.legend, "100 %")];
    if (this.values.some((values) => values.some((value) => value > 1.0001))) marks.push(element("span", { class: "scale over" }, "more than 100 %"));
    if (this.absent) marks.push(element("span", { class: "scale absent" }, "not there"));
    const choices = this.data.names.length <= NODES_AT_A_GLANCE ? [] : [find, element("label", {}, "order by ", order)];
    return element("div", { class: "controls" }, ...choices, ...marks);
  }

  makeCanvas(values, panel) {
    const canvas = element("canvas", { tabindex: "0", role: "img", "aria-label": `${this.data.title} ${this.titles[panel]}: ${this.told(values)}. Arrow keys go from node to node.` });
    canvas.addEventListener("mousemove", (event) => this.point(this.nodeAt(event), canvas));
    canvas.addEventListener("mouseleave", () => this.point(-1, canvas));
    canvas.addEventListener("keydown", (event) => this.step(event, canvas));
    canvas.addEventListener("blur", () => this.point(-1, canvas));
    return canvas;
  }

  told(values) {
    const there = values.filter((value) => value !== null).sort((a, b) => a - b);
    if (there.length === 0) return "no node";
    const mean = there.reduce((sum, value) => sum + value, 0) / there.length;
    const median = there[Math.floor(there.length / 2)];
    return `${counted(there.length, "node")}, mean ${percent(mean)}, median ${percent(median)}`;
  }

  caption(panel) {
    const told = this.told(this.values[panel]);
    return this.titles[panel] ? `${this.titles[panel]} · ${told}` : told;
  }

  /** Orders the nodes of every group; both panels have the same order, so that squares can be compared. */
  order(by) {
    const { names, before, after } = this.data;
    const change = (node) => (after[node] ?? 0) - (before[node] ?? 0);
    const keys = { before: (node) => before[node] ?? -1, after: (node) => after[node] ?? -1, change };
    const compare = by === "name" ? (a, b) => collator.compare(names[a], names[b])
      : (a, b) => keys[by](b) - keys[by](a) || collator.compare(names[a], names[b]);
    const groups = new Map();
    this.data.groups.forEach((group, node) => groups.has(group) ? groups.get(group).push(node) : groups.set(group, [node]));
    for (const members of groups.values()) members.sort(compare);
    this.groups = new Map([...groups].sort(([a], [b]) => collator.compare(a, b)));
    this.sequence = [...this.groups.values()].flat();
    this.width = this.width ?? 0;
    if (this.width) this.arrange();
  }

  find(text) {
    const word = text.trim().toLowerCase();
    this.found = word === "" ? null : this.data.names.map((name, node) =>
      name.toLowerCase().includes(word) || this.data.groups[node].toLowerCase().includes(word));
    this.draw();
  }

  drawTo(width) {
    const beside = this.values.length === 2 && width >= WIDE;
    this.panels.classList.toggle("beside", beside);
    this.width = beside ? Math.floor((width - 24) / 2) : width;
    this.arrange();
    this.draw();
  }

  arrange() {
    this.side = squareSide(this.data.names.length, this.width);
    this.places = arrangeNodes(this.groups, this.width, this.side);
  }

  draw() {
    this.stops = heatColours();
    const colours = { text: themeValue("--text"), quiet: themeValue("--quiet"), accent: themeValue("--accent") };
    this.canvases.forEach((canvas, panel) => this.drawPanel(canvas, this.values[panel], colours));
    this.drawLegend();
  }

  drawPanel(canvas, values, colours) {
    const scale = devicePixelRatio || 1;
    canvas.width = this.width * scale;
    canvas.height = Math.max(1, this.places.height + 2) * scale;
    canvas.style.width = `${this.width}px`;
    canvas.style.height = `${this.places.height + 2}px`;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    for (const head of this.places.heads) this.drawHead(pen, head, values, colours);
    const size = this.side - (this.side > 12 ? 2 : 1);
    values.forEach((value, node) => this.drawNode(pen, value, node, size, colours));
    if (this.focus >= 0) {
      const [x, y] = this.places.squares[this.focus];
      pen.strokeStyle = colours.accent;
      pen.lineWidth = 2;
      pen.strokeRect(x, y, size, size);
    }
  }

  drawHead(pen, head, values, colours) {
    const there = head.members.map((node) => values[node]).filter((value) => value !== null);
    const mean = there.length ? percent(there.reduce((sum, value) => sum + value, 0) / there.length) : DASH;
    pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    pen.fillStyle = colours.text;
    const figures = ` ${whole.format(there.length)} · ${mean}`;
    const room = head.width - pen.measureText(figures).width;
    let name = head.name || "other";
    while (name.length > 1 && pen.measureText(name).width > room) name = `${name.slice(0, -2)}…`;
    pen.fillText(name, head.x, head.y + 13);
    pen.fillStyle = colours.quiet;
    pen.fillText(figures, head.x + pen.measureText(name).width, head.y + 13);
  }

  drawNode(pen, value, node, size, colours) {
    const [x, y] = this.places.squares[node];
    pen.globalAlpha = this.found !== null && !this.found[node] ? 0.12 : 1;
    if (value === null && size < 9) {
      pen.fillStyle = colours.quiet;
      pen.fillRect(x + Math.floor(size / 2) - 1, y + Math.floor(size / 2) - 1, 1, 1);
    } else if (value === null) {
      pen.strokeStyle = colours.quiet;
      pen.lineWidth = 1;
      pen.setLineDash([2, 2]);
      pen.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
      pen.setLineDash([]);
    } else {
      pen.fillStyle = heatColour(value, this.stops);
      pen.fillRect(x, y, size, size);
    }
    pen.globalAlpha = 1;
  }

  drawLegend() {
    const pen = this.legend.getContext("2d");
    for (let x = 0; x < this.legend.width; x += 1) {
      pen.fillStyle = heatColour(x / this.legend.width, this.stops);
      pen.fillRect(x, 0, 1, this.legend.height);
    }
  }

  nodeAt(event) {
    const side = this.side;
    return this.places.squares.findIndex(([x, y]) =>
      event.offsetX >= x && event.offsetX < x + side && event.offsetY >= y && event.offsetY < y + side);
  }

  step(event, canvas) {
    const moves = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };
    if (!(event.key in moves)) return;
    event.preventDefault();
    const place = this.focus < 0 ? 0 : this.sequence.indexOf(this.focus) + moves[event.key];
    this.point(this.sequence[Math.max(0, Math.min(this.sequence.length - 1, place))], canvas);
  }

  /** Shows what is known of a node beside it, and marks it in both panels; -1 for none. */
  point(node, canvas) {
    if (node === this.focus) return;
    this.focus = node;
    this.draw();
    this.tip.hidden = node < 0;
    if (node < 0) return;
    const { names, groups, details, before, after } = this.data;
    const share = (value) => (value === null ? "not there" : percent(value));
    const value = after === null ? share(before[node]) : `${share(before[node])} → ${share(after[node])}`;
    this.tip.replaceChildren(element("strong", {}, names[node]), element("span", {}, value),
      ...[groups[node], details?.[node]].filter(Boolean).map((text) => element("small", {}, text)));
    this.placeTip(node, canvas);
  }

  placeTip(node, canvas) {
    const [x, y] = this.places.squares[node];
    const [around, mine] = [this.tip.parentElement.getBoundingClientRect(), canvas.getBoundingClientRect()];
    const left = mine.left - around.left + x + this.side + 8;
    const room = around.width - this.tip.offsetWidth - 4;
    this.tip.style.left = `${Math.max(0, left > room ? left - this.tip.offsetWidth - this.side - 16 : left)}px`;
    this.tip.style.top = `${mine.top - around.top + y}px`;
  }

  table() {
    const { names, groups, before, after, title } = this.data;
    const columns = [{ title: "node", unit: "" }, { title: "group", unit: "" }, { title: after === null ? "value" : "before", unit: "%" }];
    if (after !== null) columns.push({ title: "after", unit: "%" }, { title: "change", unit: "%" });
    return { title, columns, rows: names.map((name, node) => after === null ? [name, groups[node], before[node]]
      : [name, groups[node], before[node], after[node], (after[node] ?? 0) - (before[node] ?? 0)]) };
  }
}
