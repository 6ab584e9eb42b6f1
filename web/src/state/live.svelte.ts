// SPDX-License-Identifier: Apache-2.0
/**
 * The current cluster: follows the stream, applies differences to the node table, and notifies the map of changed rows.
 * Displayed numbers are reactive; columns are not, they have `revision` (numbers) and `shape` (set of nodes).
 */
import { EventStreamParser } from "../api/event_stream";
import type { Host } from "../api/host";
import { nextTask } from "../slices";
import type { ClockState, ClusterDiff, ClusterSnapshot, EventRow, Lanes, PodMove, Totals } from "../api/types";
import { withNews } from "./event_log";
import { NodeTable } from "./node_table";
import { RateSeries } from "./rate_series";

export type Connection = "connecting" | "live" | "lost" | "still";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

export class LiveCluster {
  connection = $state<Connection>("connecting");
  nodes = $state.raw<NodeTable | null>(null);
  totals = $state.raw<Totals | null>(null);
  lanes = $state.raw<Lanes | null>(null);
  events = $state.raw<readonly EventRow[]>([]);
  clock = $state.raw<ClockState | null>(null);
  /** Time of the last received change. */
  now = $state(0);
  private heardAt = performance.now();
  /** Time of the cluster: advances between changes like the cluster's clock. Read it through `time`. */
  private ticks = $state(0);
  /** Incremented with every change of numbers, and when nodes are added, deleted or changed. */
  revision = $state(0);
  shape = $state(0);
  readonly series = new RateSeries();
  private epoch = "";
  private seq = -1;
  private readonly rowListeners = new Set<(rows: readonly number[]) => void>();
  private readonly moveListeners = new Set<(moves: readonly PodMove[]) => void>();

  /** Time of the cluster, in whole seconds. */
  get time(): number {
    void this.ticks;
    return this.now + ((this.connection === "live" && !this.clock?.paused ? this.pace : 0) * (performance.now() - this.heardAt)) / 1000;
  }

  /** Speed of the cluster's clock, unless it is paused; 0 if unknown. */
  get pace(): number {
    return paceOf(this.clock?.speed ?? "real");
  }

  /** Make displays of the time update. */
  tick(): void {
    this.ticks += 1;
  }

  /** Call back with the rows whose numbers changed; returns a function that unsubscribes. */
  onRows(listener: (rows: readonly number[]) => void): () => void {
    this.rowListeners.add(listener);
    return () => this.rowListeners.delete(listener);
  }

  onMoves(listener: (moves: readonly PodMove[]) => void): () => void {
    this.moveListeners.add(listener);
    return () => this.moveListeners.delete(listener);
  }

  /** Show one moment, of a file or of the past, unless the signal comes first. */
  async show(snapshot: ClusterSnapshot, signal: AbortSignal): Promise<void> {
    if (await this.take(snapshot, signal)) this.connection = "still";
  }

  /** Follow the stream until the signal; reconnect when it ends, with backoff. */
  async follow(host: Host, signal: AbortSignal): Promise<void> {
    this.connection = "connecting";
    this.seq = -1; // state shown before, such as a past moment, is no base for differences
    let wait = FIRST_WAIT_MS;
    while (!signal.aborted) {
      const before = this.seq;
      try {
        await this.read(host, signal);
      } catch {
        // The next attempt shows whether the server is back; until then the page shows that it is not.
      }
      if (signal.aborted) return;
      this.connection = "lost";
      wait = this.seq > before ? FIRST_WAIT_MS : Math.min(2 * wait, LONGEST_WAIT_MS);
      await pause(wait, signal);
    }
  }

  private async read(host: Host, signal: AbortSignal): Promise<void> {
    const query = this.seq >= 0 ? { epoch: this.epoch, since: this.seq } : {};
    const response = await host.request("GET", "stream", { query, accept: "text/event-stream", signal });
    if (!response.body) return;
    const parser = new EventStreamParser();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || signal.aborted) return;
      for (const { event, data } of parser.push(value)) await this.hear(event, data, signal);
    }
  }

  private async hear(event: string, data: string, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    if (event === "snapshot") {
      await nextTask();
      if (!(await this.take(JSON.parse(data) as ClusterSnapshot, signal))) return;
    } else if (event === "diff") this.apply(JSON.parse(data) as ClusterDiff);
    else return;
    this.connection = "live";
  }

  /** Load a snapshot, in slices; return false if the signal came meanwhile. */
  private async take(snapshot: ClusterSnapshot, signal: AbortSignal): Promise<boolean> {
    await nextTask();
    const nodes = new NodeTable(snapshot);
    await nextTask();
    if (signal.aborted) return false;
    this.nodes = nodes;
    this.epoch = snapshot.epoch;
    this.seq = snapshot.seq;
    this.now = snapshot.now;
    this.heardAt = performance.now();
    this.totals = snapshot.totals;
    this.lanes = snapshot.lanes;
    this.events = snapshot.events;
    this.clock = snapshot.clock ?? null;
    this.series.clear();
    this.series.put(snapshot.ratePoints);
    this.shape += 1;
    this.revision += 1;
    return true;
  }

  /** Apply a difference that follows the current state; any other is ignored, and a snapshot follows. */
  private apply(diff: ClusterDiff): void {
    if (!this.nodes || diff.from !== this.seq) return;
    const { dirty, reshaped } = this.nodes.apply(diff);
    this.seq = diff.seq;
    this.now = diff.now;
    this.heardAt = performance.now();
    if (diff.totals) this.totals = diff.totals;
    if (diff.lanes) this.lanes = diff.lanes;
    if (diff.clock) this.clock = diff.clock;
    if (diff.events?.length) this.events = withNews(this.events, diff.events);
    if (diff.ratePoints) this.series.put(diff.ratePoints);
    this.revision += 1;
    if (reshaped || diff.resources?.length) this.shape += 1;
    if (dirty.length) for (const listener of this.rowListeners) listener(dirty);
    if (diff.moves?.length) for (const listener of this.moveListeners) listener(diff.moves);
  }
}

/** Return the speed of the clock; 0 if time jumps from timer to timer. */
function paceOf(speed: string): number {
  return speed === "real" ? 1 : (Number(/^([\d.]+)x$/.exec(speed)?.[1]) || 0);
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
