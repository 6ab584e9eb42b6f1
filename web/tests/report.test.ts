// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest";
import { withUnit } from "../src/formats";
import { type HeatMapData, tableOf } from "../src/report/model";
import { spread } from "../src/report/spread";
import { sortedRows } from "../src/sorting";

it("writes values with their units", () => {
  expect([withUnit(0.0417, "%"), withUnit(0.37, "%"), withUnit(1.2, "%")]).toEqual(["4.2 %", "37 %", "120 %"]);
  expect([withUnit(90, "s"), withUnit(2 ** 30, "B"), withUnit(1234.5, "pods"), withUnit(null, "s")]).toEqual(["1 min 30 s", "1Gi", "1,234.5 pods", "–"]);
});

it("finds quartiles between values", () => {
  expect(spread([4, 1, 3, 2])).toEqual({ least: 1, lower: 1.75, median: 2.5, upper: 3.25, most: 4 });
  expect(spread([])).toBeNull();
});

it("sorts numbers in names as people expect", () => {
  const names = ["node-10", "node-2", "node-1"];
  expect(sortedRows([0, 1, 2], (row) => names[row], false, true)).toEqual([2, 1, 0]);
  expect(sortedRows([0, 1, 2], (row) => names[row], false)).toEqual([2, 0, 1]);
});

it("tells the change of each node, of those that came and went as well", () => {
  const data: HeatMapData = { type: "heatmap", title: "cpu", names: ["a", "b"], groups: ["x", ""], details: null, before: [0.25, null], after: [0.5, 1] };
  expect(tableOf(data, "cpu").rows).toEqual([["a", "x", 0.25, 0.5, 0.25], ["b", "", null, 1, 1]]);
  expect(tableOf({ ...data, after: null }, "cpu").columns.map((column) => column.title)).toEqual(["node", "group", "value"]);
});

it("has a row per point of a line, and gaps", () => {
  const line = { name: "cpu", x: [0, 60], y: [0.5, null] };
  const data = { type: "lines", unit: "%", stacked: false, steps: true, xTitle: "time", xUnit: "s", series: [line], thinned: false } as const;
  expect(tableOf(data, "use").rows).toEqual([["cpu", 0, 0.5], ["cpu", 60, null]]);
});
