// SPDX-License-Identifier: Apache-2.0
// Lines, bars and distributions, drawn by Plotly in the colours of the theme.

const MOST_BARS = 60;
const MOST_POINTS_OF_A_BOX = 300;
const LONGEST_LABEL = 40;

/** Plotly reads markup in texts: what looks like it is escaped. Long ones are cut; the data below has them whole. */
function label(text) {
  const short = text.length > LONGEST_LABEL ? `${text.slice(0, LONGEST_LABEL - 1)}…` : text;
  return short.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Units that are part of a value; others are the title of the axis. */
const HAS_FORMAT = new Set(["%", "s", "B"]);

function palette() {
  return Array.from({ length: 8 }, (_, at) => themeValue(`--line-${at + 1}`));
}

function axisTitle(text) {
  return { text: label(text), standoff: 8, font: { size: 13, color: themeValue("--quiet") } };
}

/** The axis of a unit. Durations and bytes have ticks at round numbers of their own. */
function axis(unit, values, title) {
  const made = { gridcolor: themeValue("--grid"), zerolinecolor: themeValue("--grid"), linecolor: themeValue("--grid"),
    automargin: true, title: title ? axisTitle(title) : undefined };
  if (unit === "%") return { ...made, tickformat: ".0~%", rangemode: "tozero" };
  const highest = values.reduce((most, value) => (value > most ? value : most), 0);
  if ((unit === "s" || unit === "B") && highest > 0) {
    const ticks = roundTicks(highest, unit);
    return { ...made, tickvals: ticks, ticktext: ticks.map((value) => formatted(value, unit)), rangemode: "tozero" };
  }
  const fewAndWhole = highest < 8 && values.every(Number.isInteger);
  return { ...made, rangemode: "tozero", dtick: fewAndWhole ? 1 : undefined, title: made.title ?? (unit ? axisTitle(unit) : undefined) };
}

const STEPS = {
  s: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800],
  B: Array.from({ length: 60 }, (_, power) => 2 ** power),
};

function roundTicks(highest, unit) {
  const most = innerWidth < 600 ? 4 : 8;
  let step = STEPS[unit].find((candidate) => highest / candidate <= most) ?? highest / most;
  if (unit === "s" && highest < 5) step = 10 ** Math.floor(Math.log10(highest / 2));
  while (highest / step > most) step *= 2;
  return Array.from({ length: Math.floor(highest / step) + 1 }, (_, at) => Number((at * step).toPrecision(12)));
}

function layout(changes) {
  const text = themeValue("--text");
  return { autosize: true, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: text },
    colorway: palette(), margin: { l: 56, r: 16, t: 8, b: 40 }, hovermode: "closest", bargap: 0.25, boxgap: 0.35,
    hoverlabel: { bgcolor: themeValue("--raised"), bordercolor: themeValue("--grid"), font: { color: text } },
    legend: { orientation: "h", yanchor: "bottom", y: 1, x: 0 }, ...changes };
}

function lines(data) {
  const colours = palette();
  const traces = data.series.map((line, at) => ({
    type: "scatter", mode: line.x.length === 1 ? "markers" : "lines", name: label(line.name), x: line.x, y: line.y,
    line: { shape: data.steps ? "hv" : "linear", width: data.stacked ? 1 : 2, color: colours[at % colours.length] },
    stackgroup: data.stacked ? "all" : undefined, connectgaps: false,
    text: line.y.map((y, place) => `${formatted(y, data.unit)} at ${formatted(line.x[place], data.xUnit)}`),
    hovertemplate: "%{fullData.name}: %{text}<extra></extra>",
  }));
  const heights = data.series.flatMap((line) => line.y.filter((y) => y !== null));
  return [traces, layout({ height: 300, showlegend: true,
    xaxis: axis(data.xUnit, data.series.flatMap((line) => line.x), data.xTitle), yaxis: axis(data.unit, heights) })];
}

function bars(data) {
  const categories = data.categories.slice(0, MOST_BARS);
  const lying = categories.length > 8 || categories.some((name) => name.length > 14);
  const names = categories.map((name, at) => ({ at, name: label(name) }));
  const traces = data.series.map((series) => {
    const values = series.values.slice(0, MOST_BARS);
    const places = names.map(({ at }) => at);
    return { type: "bar", name: label(series.name), orientation: lying ? "h" : "v", x: lying ? values : places, y: lying ? places : values,
      text: values.map((value) => formatted(value, HAS_FORMAT.has(data.unit) ? data.unit : "")), textposition: data.stacked ? "inside" : "outside", textfont: { size: 12 },
      constraintext: "none", cliponaxis: false,
      customdata: names.map(({ name }) => name), hovertemplate: "%{customdata}: %{text}<extra>%{fullData.name}</extra>" };
  });
  const named = { tickvals: names.map(({ at }) => at), ticktext: names.map(({ name }) => name), automargin: true,
    gridcolor: themeValue("--grid"), showgrid: false, zeroline: false, autorange: lying ? "reversed" : true };
  const valued = axis(data.unit, data.series.flatMap((series) => series.values.filter((value) => value !== null)));
  const height = lying ? 90 + names.length * Math.max(26, data.stacked ? 26 : 20 * data.series.length) : 270;
  return [traces, layout({ height, barmode: data.stacked ? "stack" : "group", showlegend: data.series.length > 1,
    xaxis: lying ? valued : named, yaxis: lying ? named : valued })];
}

function distribution(data) {
  const colours = palette();
  const traces = data.samples.map((sample, at) => ({
    type: "box", name: label(sample.name), x: sample.values, orientation: "h", boxmean: true, jitter: 0.4, pointpos: 0,
    boxpoints: sample.values.length <= MOST_POINTS_OF_A_BOX ? "all" : "outliers", fillcolor: "rgba(128,128,128,0.12)",
    marker: { size: 5, opacity: 0.65, color: colours[at % colours.length] }, line: { width: 1.5, color: colours[at % colours.length] },
    hoverinfo: "x+name",
  }));
  const values = data.samples.flatMap((sample) => sample.values.filter((value) => value !== null));
  const extent = axis(data.unit, values);
  return [traces, layout({ height: 100 + 64 * data.samples.length, showlegend: false,
    xaxis: { ...extent, rangemode: "normal", zeroline: false }, yaxis: { automargin: true, autorange: "reversed", showgrid: false } })];
}

const CHARTS = { lines, bars, distribution };

function chartTable(data, title) {
  if (data.type === "lines") return { title, columns: [{ title: "line", unit: "" }, { title: data.xTitle, unit: data.xUnit }, { title: "value", unit: data.unit }],
    rows: data.series.flatMap((line) => line.x.map((x, at) => [line.name, x, line.y[at]])) };
  if (data.type === "bars") return { title, columns: [{ title: "", unit: "" }, ...data.series.map((series) => ({ title: series.name, unit: data.unit }))],
    rows: data.categories.map((name, at) => [name, ...data.series.map((series) => series.values[at])]) };
  return { title, columns: [{ title: "of", unit: "" }, { title: "value", unit: data.unit }],
    rows: data.samples.flatMap((sample) => sample.values.map((value) => [sample.name, value])) };
}

class Chart {
  constructor(holder, data, title) {
    this.data = data;
    this.plot = element("div", { class: "plot", role: "img", "aria-label": `Chart: ${title}. The data is below.` });
    holder.append(this.plot);
    if (data.type === "bars" && data.categories.length > MOST_BARS) {
      holder.append(element("p", { class: "caption" }, `The first ${MOST_BARS} of ${counted(data.categories.length, "bar")}; the data has all.`));
    }
    if (data.thinned) holder.append(element("p", { class: "caption" }, "Long lines are thinned for the screen; peaks are kept."));
    holder.append(dataBelow(() => new SortedTable(chartTable(data, title)).root));
  }

  /** Draws, or draws anew in the colours that hold now. */
  draw() {
    const [traces, shape] = CHARTS[this.data.type](this.data);
    const settings = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"], showTips: false };
    return Plotly.react(this.plot, traces, shape, settings);
  }
}

/** Unpacks Plotly and runs it: the policy of the page allows this very text. */
async function loadPlotly() {
  const packed = document.getElementById("plotly");
  if (packed === null) return;
  const characters = atob(packed.textContent);
  packed.remove();
  const binary = new Uint8Array(characters.length);
  for (let at = 0; at < binary.length; at += 1) binary[at] = characters.charCodeAt(at);
  const stream = new Blob([binary]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
}
