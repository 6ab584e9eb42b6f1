// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest";
import { RateSeries } from "../src/state/rate_series";

const rates = (scheduled: number) => ({ seconds: 10, scheduled, unschedulable: 0, errors: 0, latencyP50: 0.25, latencyP99: null });

it("keeps points in order and latencies in milliseconds", () => {
  const series = new RateSeries();
  series.add(1, rates(5));
  series.add(2, rates(6));
  expect([series.at, series.scheduled, series.p50, series.p99]).toEqual([[1, 2], [5, 6], [250, 250], [null, null]]);
});

it("replaces the last point while the clock stands, and begins anew when it goes back", () => {
  const series = new RateSeries();
  series.add(1, rates(5));
  series.add(2, rates(6));
  series.add(2, rates(7));
  expect([series.at, series.scheduled]).toEqual([[1, 2], [5, 7]]);
  series.add(1, rates(1));
  expect([series.at, series.scheduled]).toEqual([[1], [1]]);
});

it("is bounded", () => {
  const series = new RateSeries();
  for (let at = 0; at < 2000; at += 1) series.add(at, rates(at));
  expect(series.at).toHaveLength(600);
  expect(series.scheduled.at(-1)).toBe(1999);
});
