// SPDX-License-Identifier: Apache-2.0
/**
 * The answer to a request, for a page: loaded when its path or the moment changes, and again while the cluster changes.
 */
import type { Parameters } from "../api/host";
import { session } from "./session.svelte";

export interface Wanted {
  readonly path: string;
  readonly query?: Parameters;
  /** The media type, for example of lists. */
  readonly accept?: string;
  /** Keep the last answer until the next one has arrived, for example while a reader types. */
  readonly keep?: boolean;
}

export class Loaded<T> {
  value = $state.raw<T | null>(null);
  error = $state("");
  loading = $state(true);
  private asked = "";
  private askedAt = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private round = 0;

  /**
   * `wanted` is read reactively; null loads nothing. With `everySeconds` the answer is loaded again after a change of
   * the cluster, at most that often, while the present is shown.
   */
  constructor(wanted: () => Wanted | null, everySeconds = 0) {
    $effect(() => {
      const wish = wanted();
      const host = session.host;
      const at = session.at;
      if (!wish || !host) {
        this.asked = ""; // another load needs the state after it was requested
        return;
      }
      const key = JSON.stringify([wish, at]);
      if (everySeconds && at === null) void session.cluster.revision;
      if (key !== this.asked) {
        this.asked = key;
        if (!wish.keep) this.value = null;
        void this.ask(wish, at);
      } else if (everySeconds) {
        this.later(wish, at, everySeconds);
      }
    });
    $effect(() => () => clearTimeout(this.timer));
  }

  private later(wish: Wanted, at: number | null, seconds: number): void {
    if (this.timer !== undefined) return;
    const wait = Math.max(0, this.askedAt + seconds * 1000 - performance.now());
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (JSON.stringify([wish, at]) === this.asked) void this.ask(wish, at);
    }, wait);
  }

  private async ask(wish: Wanted, at: number | null): Promise<void> {
    this.round += 1;
    const { round } = this;
    this.loading = true;
    this.askedAt = performance.now();
    try {
      const value = await session.host?.get<T>(wish.path, { at, ...wish.query }, wish.accept);
      if (round !== this.round) return;
      this.value = value ?? null;
      this.error = "";
    } catch (error) {
      if (round !== this.round) return;
      this.error = error instanceof Error ? error.message : String(error);
    }
    this.loading = false;
  }
}
