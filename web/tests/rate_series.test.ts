// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest";
import type { RatePoints } from "../src/api/types";
import { RateSeries } from "../src/state/rate_series";

const points = (...seconds: readonly (readonly [at: number, scheduled: number])[]): RatePoints => ({
  at: seconds.map(([at]) => at),
  scheduled: seconds.map(([, scheduled]) => scheduled),
  unschedulable: seconds.map(() => 0),
  errors: seconds.map(() => 0),
  latencyP50: seconds.map(() => 0.25),
  latencyP99: seconds.map(() => null),
});

/** What the chart shows at a moment: the value of the last point before it. */
const valueAt = (series: RateSeries, now: number, at: number): number => {
  const chart = series.chart(now);
  return chart.scheduled[chart.at.findLastIndex((one) => one <= at)] ?? 0;
};

it("draws a burst over its seconds and nothing after it", () => {
  const series = new RateSeries();
  series.put(points([10, 500], [11, 2000]));
  expect([10, 10.9, 11.5, 12, 12.5, 20, 30].map((at) => valueAt(series, 40, at))).toEqual([500, 500, 2000, 0, 0, 0, 0]);
  expect(series.chart(40).at.at(-1)).toBe(40);
});

it("rises and falls within a second, not as a slope from the last burst", () => {
  const series = new RateSeries();
  series.put(points([10, 5], [30, 7]));
  const { at, scheduled } = series.chart(40);
  at.slice(1).forEach((one, index) => {
    if (scheduled[index] !== scheduled[index + 1]) expect(one - (at[index] ?? 0)).toBeLessThan(0.03);
  });
  expect(at).toEqual([...at].sort((one, other) => one - other));
});

it("goes on with the clock while nothing happens", () => {
  const series = new RateSeries();
  series.put(points([10, 5]));
  expect([series.chart(20).at.at(-1), series.chart(25).at.at(-1)]).toEqual([20, 25]);
});

it("replaces seconds that are told again, and begins anew when the clock goes back", () => {
  const series = new RateSeries();
  series.put(points([10, 5], [11, 1]));
  series.put(points([11, 4]));
  expect([valueAt(series, 20, 10.5), valueAt(series, 20, 11.5)]).toEqual([5, 4]);
  series.put(points([3, 1]));
  expect(series.begin).toBe(3);
});

it("tells the rate of the last seconds, which falls to nothing after a burst", () => {
  const series = new RateSeries();
  series.put(points([9, 100], [10, 30]));
  expect([series.rate(10.5).scheduled, series.rate(11).scheduled, series.rate(12).scheduled]).toEqual([130 / 1.5, 30, 0]);
});

it("has latencies in milliseconds, and none where nothing was decided", () => {
  const series = new RateSeries();
  series.put(points([10, 5]));
  const { at, p50, p99 } = series.chart(12);
  expect(p50[at.indexOf(10)]).toBe(250);
  expect(p50.at(-1)).toBeNull();
  expect(new Set(p99)).toEqual(new Set([null]));
});

it("is bounded", () => {
  const series = new RateSeries();
  for (let at = 0; at < 2000; at += 1) series.put(points([at, 1]));
  expect(series.begin).toBe(1400);
});
