// SPDX-License-Identifier: Apache-2.0
/**
 * The cluster as it is now: follows the stream, applies differences to the node table, and tells the map which rows changed.
 * Numbers that text shows are reactive; the columns are not, they have `revision` (numbers) and `shape` (which nodes there are).
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
  /** The time of the last change that was heard of. */
  now = $state(0);
  private heardAt = performance.now();
  /** The time there: goes on between changes as the clock there does. Read it through `time`. */
  private ticks = $state(0);
  /** Grows with every change of numbers, and when nodes come, go or change. */
  revision = $state(0);
  shape = $state(0);
  readonly series = new RateSeries();
  private epoch = "";
  private seq = -1;
  private readonly rowListeners = new Set<(rows: readonly number[]) => void>();
  private readonly moveListeners = new Set<(moves: readonly PodMove[]) => void>();

  /** What time it is in the cluster, to a second. */
  get time(): number {
    void this.ticks;
    return this.now + ((this.connection === "live" && !this.clock?.paused ? this.pace : 0) * (performance.now() - this.heardAt)) / 1000;
  }

  /** How many seconds pass there in one of ours, unless it is paused; 0 where nobody can know. */
  get pace(): number {
    return paceOf(this.clock?.speed ?? "real");
  }

  /** Lets whoever shows the time look at it again. */
  tick(): void {
    this.ticks += 1;
  }

  /** Calls back with the rows whose numbers changed; the function that ends it. */
  onRows(listener: (rows: readonly number[]) => void): () => void {
    this.rowListeners.add(listener);
    return () => this.rowListeners.delete(listener);
  }

  onMoves(listener: (moves: readonly PodMove[]) => void): () => void {
    this.moveListeners.add(listener);
    return () => this.moveListeners.delete(listener);
  }

  /** Shows one moment, a file's or one of the past, unless the signal comes first. */
  async show(snapshot: ClusterSnapshot, signal: AbortSignal): Promise<void> {
    if (await this.take(snapshot, signal)) this.connection = "still";
  }

  /** Follows the stream until the signal; connects anew when it ends, after a pause that grows. */
  async follow(host: Host, signal: AbortSignal): Promise<void> {
    this.connection = "connecting";
    this.seq = -1; // whatever was shown before, a moment of the past perhaps, is no base for differences
    let wait = FIRST_WAIT_MS;
    while (!signal.aborted) {
      const before = this.seq;
      try {
        await this.read(host, signal);
      } catch {
        // The next attempt says whether the server is back; the page shows that it is not.
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

  /** Everything anew, in slices; false where the signal came in between. */
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

  /** Applies a difference that continues what is here; any other is passed over, and a snapshot follows. */
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

/** How many seconds pass there in one of ours; from event to event nobody knows. */
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
