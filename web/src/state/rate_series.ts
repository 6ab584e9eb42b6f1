// SPDX-License-Identifier: Apache-2.0
/** Pods per second and latencies over the last minutes, as columns that a chart takes as they are. */
import type { Rates } from "../api/types";

const KEPT = 600;

export class RateSeries {
  readonly at: number[] = [];
  readonly scheduled: number[] = [];
  readonly unschedulable: number[] = [];
  readonly p50: (number | null)[] = [];
  readonly p99: (number | null)[] = [];

  /** Adds a point. A clock that went back, after a reset say, begins anew; one that stands still replaces the last point. */
  add(now: number, rates: Rates): void {
    const last = this.at.at(-1);
    if (last !== undefined && now < last) this.clear();
    if (last === now) for (const column of this.columns()) column.pop();
    this.at.push(now);
    this.scheduled.push(rates.scheduled);
    this.unschedulable.push(rates.unschedulable);
    this.p50.push(milliseconds(rates.latencyP50));
    this.p99.push(milliseconds(rates.latencyP99));
    if (this.at.length > KEPT) for (const column of this.columns()) column.shift();
  }

  private clear(): void {
    for (const column of this.columns()) column.length = 0;
  }

  private columns(): (number | null)[][] {
    return [this.at, this.scheduled, this.unschedulable, this.p50, this.p99];
  }
}

function milliseconds(seconds: number | null): number | null {
  return seconds === null ? null : seconds * 1000;
}
