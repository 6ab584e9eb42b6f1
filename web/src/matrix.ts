// SPDX-License-Identifier: Apache-2.0
/**
 * Nodes × plugins of one decision, as columns of a table, and the difference between two nodes in words and numbers.
 */
import type { FilterColumn, Matrix, ScoreColumn, Verdict } from "./api/types";
import { trimmed } from "./formats";
import type { TableColumn } from "./parts/DataTable.svelte";

export type ScoreView = "raw" | "normalised" | "weighted";

/** Cells of a matrix by node index and plugin. */
export class MatrixView {
  /** Index of a node among the scored nodes by its index; -1 if it was not scored. */
  private readonly placeOf: Int32Array;
  private readonly filters: ReadonlyMap<string, FilterColumn>;
  private readonly scores: ReadonlyMap<string, ScoreColumn>;
  /** Plugins in the order of the profile: filters first, then plugins that only score. */
  readonly plugins: readonly string[];
  readonly skipped: readonly string[];

  constructor(readonly matrix: Matrix) {
    this.placeOf = new Int32Array(matrix.nodes.length).fill(-1);
    matrix.scored.forEach((node, place) => (this.placeOf[node] = place));
    this.filters = new Map(matrix.filters.map((column) => [column.plugin, column]));
    this.scores = new Map(matrix.scores.map((column) => [column.plugin, column]));
    const names = [...new Set([...this.filters.keys(), ...this.scores.keys()])];
    const idle = (name: string) => (this.filters.get(name)?.skipped ?? true) && (this.scores.get(name)?.skipped ?? true);
    this.plugins = names.filter((name) => !idle(name));
    this.skipped = names.filter(idle);
  }

  total(node: number): number | null {
    return this.matrix.total[this.placeOf[node] ?? -1] ?? null;
  }

  /** Return a plugin's objection to a node; null if the node passes or was not evaluated. */
  objection(node: number, plugin: string): Verdict | null {
    return this.matrix.verdicts[this.filters.get(plugin)?.verdict[node] ?? -1] ?? null;
  }

  wasAsked(node: number, plugin: string): boolean {
    const column = this.filters.get(plugin);
    return column !== undefined && !column.skipped && (column.verdict[node] ?? -2) !== -2;
  }

  score(node: number, plugin: string, view: ScoreView): number | null {
    const column = this.scores.get(plugin);
    return column && !column.skipped ? (column[view][this.placeOf[node] ?? -1] ?? null) : null;
  }

  weight(plugin: string): number | null {
    const column = this.scores.get(plugin);
    return column && !column.skipped ? column.weight : null;
  }

  /** Return the first objecting plugin of a node with its reasons; "" if none objects. */
  rejection(node: number): string {
    for (const plugin of this.plugins) {
      const verdict = this.objection(node, plugin);
      if (verdict) return `${verdict.plugin}: ${words(verdict)}`;
    }
    return "";
  }

  /** Return the other node with the best total, or -1. */
  runnerUp(node: number): number {
    let [best, most] = [-1, -Infinity];
    this.matrix.scored.forEach((other, place) => {
      const total = this.matrix.total[place] ?? -Infinity;
      if (other !== node && total > most) [best, most] = [other, total];
    });
    return best;
  }

  /** Return by how much one node is ahead of another, by plugin, largest difference first. */
  difference(node: number, other: number): { plugin: string; by: number }[] {
    return this.plugins
      .map((plugin) => ({ plugin, by: (this.score(node, plugin, "weighted") ?? 0) - (this.score(other, plugin, "weighted") ?? 0) }))
      .filter(({ by }) => by !== 0)
      .sort((one, next) => Math.abs(next.by) - Math.abs(one.by));
  }

  columns(view: ScoreView, href: (node: string) => string): TableColumn[] {
    const { matrix } = this;
    return [
      { title: "Node", value: (node) => matrix.nodes[node], href: (node) => href(matrix.nodes[node] ?? "") },
      { title: "Total", value: (node) => this.total(node), number: true, tone: () => "strong" },
      { title: "Rejected by", value: (node) => this.rejection(node), tone: (node) => (matrix.fits[node] ? "" : "quiet"), hint: (node) => this.rejection(node) },
      ...this.plugins.map((plugin) => this.column(plugin, view)),
    ];
  }

  private heat(node: number, plugin: string): string {
    const score = this.score(node, plugin, "normalised");
    return score === null ? "quiet" : `heat-${Math.min(HEATS - 1, Math.max(0, Math.floor((score * HEATS) / 100)))}`;
  }

  private column(plugin: string, view: ScoreView): TableColumn {
    const weight = this.weight(plugin);
    const value = (node: number) => {
      const verdict = this.objection(node, plugin);
      return verdict ? words(verdict) : (this.score(node, plugin, view) ?? (this.wasAsked(node, plugin) ? "passes" : ""));
    };
    return {
      title: weight === null ? plugin : `${plugin} ×${weight}`,
      note: weight === null ? `${plugin}: a filter` : `${plugin}: ${view} scores, weight ${weight}`,
      value,
      text: (node) => {
        const cell = value(node);
        if (this.objection(node, plugin)) return `✕ ${cell}`;
        return typeof cell === "number" ? trimmed(cell) : cell === "passes" ? "✓" : "";
      },
      hint: (node) => {
        const verdict = this.objection(node, plugin);
        if (verdict) return `${verdict.code}: ${words(verdict)}`;
        const [raw, normalised, weighted] = (["raw", "normalised", "weighted"] as const).map((one) => this.score(node, plugin, one));
        return raw === null || raw === undefined ? "" : `raw ${raw}, normalised ${normalised}, weighted ${weighted}`;
      },
      number: weight !== null,
      tone: (node) => (this.objection(node, plugin) ? "no" : this.heat(node, plugin)),
    };
  }
}

/** Shades of score cells, from the lowest to the highest normalised score. */
const HEATS = 5;

function words(verdict: Verdict): string {
  return (verdict.reasons ?? []).join(", ");
}
