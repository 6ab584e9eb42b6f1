// SPDX-License-Identifier: Apache-2.0
/**
 * Decisions by second of the cluster's clock, counted by the server even if no page is open. A chart draws steps: the
 * decisions of a second over that second, and zero for seconds without decisions.
 */
import type { RatePoints } from "../api/types";

const KEPT = 600;
/** The last instant of a second. */
const END = 0.98;

export interface RateChart {
  readonly at: number[];
  readonly scheduled: number[];
  readonly unschedulable: number[];
  readonly p50: (number | null)[];
  readonly p99: (number | null)[];
}

interface Second {
  readonly at: number;
  readonly scheduled: number;
  readonly unschedulable: number;
  readonly p50: number | null;
  readonly p99: number | null;
}

export class RateSeries {
  private seconds: Second[] = [];

  /** The first known second, or null. */
  get begin(): number | null {
    return this.seconds[0]?.at ?? null;
  }

  clear(): void {
    this.seconds = [];
  }

  /** Set the values of seconds, replacing known ones. If the clock was set back, clear the series first. */
  put(points: RatePoints): void {
    const first = points.at[0];
    if (first === undefined) return;
    if (first < (this.begin ?? first)) this.clear();
    const news = points.at.map((at, index) => ({
      at,
      scheduled: points.scheduled[index] ?? 0,
      unschedulable: points.unschedulable[index] ?? 0,
      p50: milliseconds(points.latencyP50[index]),
      p99: milliseconds(points.latencyP99[index]),
    }));
    this.seconds = [...this.seconds.filter(({ at }) => at < first), ...news].slice(-KEPT);
  }

  /** Return decisions per second in this second of the clock and the previous one. */
  rate(now: number): { scheduled: number; unschedulable: number } {
    const first = Math.floor(now) - 1;
    const recent = this.seconds.filter(({ at }) => at >= first && at <= now);
    const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / (now - first);
    return { scheduled: mean(recent.map((one) => one.scheduled)), unschedulable: mean(recent.map((one) => one.unschedulable)) };
  }

  /** Return the columns of a chart that ends now. */
  chart(now: number): RateChart {
    const chart: RateChart = { at: [], scheduled: [], unschedulable: [], p50: [], p99: [] };
    const add = (at: number, { scheduled, unschedulable, p50, p99 }: Omit<Second, "at">): void => {
      chart.at.push(at);
      chart.scheduled.push(scheduled);
      chart.unschedulable.push(unschedulable);
      chart.p50.push(p50);
      chart.p99.push(p99);
    };
    this.seconds.forEach((second, index) => {
      if (this.seconds[index - 1]?.at !== second.at - 1) add(second.at - (1 - END), NOTHING);
      add(second.at, second);
      add(Math.max(second.at + 0.01, Math.min(second.at + END, now)), second);
      if (second.at + 1 <= now && this.seconds[index + 1]?.at !== second.at + 1) add(second.at + 1, NOTHING);
    });
    if (now > (chart.at.at(-1) ?? -Infinity)) add(now, NOTHING);
    return chart;
  }
}

const NOTHING: Omit<Second, "at"> = { scheduled: 0, unschedulable: 0, p50: null, p99: null };

function milliseconds(seconds: number | null | undefined): number | null {
  return seconds === null || seconds === undefined ? null : seconds * 1000;
}
