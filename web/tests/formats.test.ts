// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest";
import { bytes, cores, count, duration, grouped, measured, percent, plural, quantity } from "../src/formats";

it("writes cpu in cores, and below one in millicores", () => {
  expect([cores(0), cores(250), cores(1500), cores(64000)]).toEqual(["0", "250m", "1.5", "64"]);
});

it("writes bytes in binary multiples", () => {
  expect([bytes(0), bytes(1024), bytes(1.5 * 2 ** 30), bytes(160_000 * 2 ** 30)]).toEqual(["0", "1Ki", "1.5Gi", "156Ti"]);
});

it("knows which resources are bytes", () => {
  expect(quantity("ephemeral-storage", 2048)).toBe("2Ki");
  expect(quantity("nvidia.com/gpu", 40_000)).toBe("40,000");
});

it("sets thousands apart and keeps decimals", () => {
  expect([grouped(1234567), grouped(-1234.5), grouped(12)]).toEqual(["1,234,567", "-1,234.5", "12"]);
});

it("writes spans of time in two units", () => {
  expect([0, 0.12, 4.56, 45, 61, 3600, 12_000, 90_061].map(duration)).toEqual(["0 s", "120 ms", "4.6 s", "45 s", "1 min 1 s", "1 h", "3 h 20 min", "1 d 1 h"]);
});

it("does not call a small share nothing", () => {
  expect([percent(1, 1000), percent(1, 2), percent(1, 0)]).toEqual(["<1 %", "50 %", "–"]);
});

it("counts", () => {
  expect([count(1, "pod"), count(2000, "pod")]).toEqual(["1 pod", "2,000 pods"]);
  expect([plural(0, "row"), plural(1, "row")]).toEqual(["rows", "row"]);
});

it("writes figures of charts that are below one with two digits", () => {
  expect([measured(0), measured(0.0234), measured(0.5), measured(2.5), measured(1234)]).toEqual(["0", "0.023", "0.5", "2.5", "1,234"]);
});
