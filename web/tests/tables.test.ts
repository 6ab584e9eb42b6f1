// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest";
import { csv } from "../src/csv";
import { quoted, kubectl } from "../src/commands";
import { resorted, sortedRows } from "../src/sorting";

it("sorts numbers by size and keeps what is missing last in both directions", () => {
  const values = [10, null, 9, 100, null];
  expect(sortedRows([0, 1, 2, 3, 4], (row) => values[row], false)).toEqual([2, 0, 3, 1, 4]);
  expect(sortedRows([0, 1, 2, 3, 4], (row) => values[row], true)).toEqual([3, 0, 2, 1, 4]);
});

it("keeps the order of equal rows", () => {
  expect(sortedRows([3, 1, 2], () => "same", true)).toEqual([3, 1, 2]);
});

it("sorts by several columns, the one that was chosen last first", () => {
  const [zone, free] = [["b", "a", "b", "a"], [1, 2, 3, 4]];
  const orders = resorted(resorted([], { column: "free", descending: true }), { column: "zone", descending: false });
  expect(orders.map((one) => one.column)).toEqual(["zone", "free"]);
  const byFree = sortedRows([0, 1, 2, 3], (row) => free[row], true);
  expect(sortedRows(byFree, (row) => zone[row], false)).toEqual([3, 1, 2, 0]);
  expect(resorted(orders, { column: "free", descending: false })).toEqual([{ column: "free", descending: false }, { column: "zone", descending: false }]);
});

it("writes CSV that spreadsheets read and do not run", () => {
  expect(csv(["a", "b"], [['x "y"', "1,2"], ["=1+1", null], [3, true]])).toBe('a,b\r\n"x ""y""","1,2"\r\n\'=1+1,\r\n3,true\r\n');
});

it("quotes words for a shell", () => {
  expect(quoted("default/web-0")).toBe("default/web-0");
  expect(quoted("it's; rm -rf /")).toBe(`'it'\\''s; rm -rf /'`);
  expect(kubectl(null, "get", "pod", "a b")).toBe("kubectl get pod 'a b'");
});
