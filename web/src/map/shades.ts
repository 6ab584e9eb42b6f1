// SPDX-License-Identifier: Apache-2.0
/** Colours of nodes: a shade per row, and the legend that explains it. */
import type { ComparedDecision, Matrix, RoomReport, Taint } from "../api/types";
import { count, grouped, trimmed } from "../formats";
import type { NodeTable } from "../state/node_table";
import { type Palette, STEPS, stepOf } from "./colours";

export interface LegendEntry {
  readonly colour: string;
  readonly text: string;
}

export interface Shades {
  colour(row: number): string;
  /** For tooltips, and for readers who do not see colours. */
  text(row: number): string;
  readonly legend: readonly LegendEntry[];
  /** A continuous scale instead of single entries, with its two ends. */
  readonly scale?: { readonly low: string; readonly high: string };
}

/** Requested share of a resource; "" is the resource with the largest share. */
export function utilisationShades(nodes: NodeTable, resource: string, palette: Palette): Shades {
  const share = (row: number) => (resource === "" ? nodes.dominant(row) : nodes.utilisation(row, resource));
  return {
    colour: (row) => palette.scale[stepOf(share(row))] ?? palette.over,
    text: (row) => `${Math.round(100 * share(row))} % of ${resource || "the scarcest resource"} requested`,
    legend: [{ colour: palette.over, text: "more than allocatable" }],
    scale: { low: "0 %", high: "100 %" },
  };
}

export function taintText(taint: Taint): string {
  return `${taint.key}${taint.value ? `=${taint.value}` : ""}:${taint.effect}`;
}

/** Sets of taints by frequency; the rarest share a colour. */
export function taintShades(nodes: NodeTable, palette: Palette): Shades {
  const counts = new Map<number, number>();
  for (const row of nodes.living()) counts.set(nodes.taints[row] ?? 0, (counts.get(nodes.taints[row] ?? 0) ?? 0) + 1);
  const text = (code: number) => nodes.taintSets[code]?.map(taintText).join(", ") || "no taint";
  const tainted = [...counts].filter(([code]) => nodes.taintSets[code]?.length).sort((one, other) => other[1] - one[1]);
  const colours = new Map<number, string>();
  const last = palette.kinds.length - 1;
  tainted.forEach(([code], place) => colours.set(code, palette.kinds[Math.min(place, last)] ?? palette.none));
  const bare = palette.scale[2] ?? palette.none;
  const shown = tainted.slice(0, last).map(([code, number]) => ({ colour: colours.get(code) ?? bare, text: `${text(code)} (${grouped(number)})` }));
  const others = tainted.length > last ? [{ colour: palette.kinds[last] ?? bare, text: `${grouped(tainted.length - last)} other sets` }] : [];
  return {
    colour: (row) => colours.get(nodes.taints[row] ?? 0) ?? bare,
    text: (row) => text(nodes.taints[row] ?? 0),
    legend: [{ colour: bare, text: "no taint" }, ...shown, ...others],
  };
}

/** Number of additional pods that fit, like the selected pod. */
export function roomShades(report: RoomReport, palette: Palette): Shades {
  const rooms = new Map(report.row.map((row, index) => [row, report.fits[index] ? (report.room[index] ?? 0) : -1]));
  const most = Math.max(1, ...rooms.values());
  return {
    colour: (row) => {
      const room = rooms.get(row) ?? -1;
      return room < 0 ? palette.none : (palette.scale[stepOf(Math.max(0.08, room / most) * 0.999)] ?? palette.none);
    },
    text: (row) => {
      const room = rooms.get(row) ?? -1;
      return room < 0 ? "a filter rejects it" : `room for ${grouped(room)} more`;
    },
    legend: [{ colour: palette.none, text: "a filter rejects it" }],
    scale: { low: "1", high: grouped(most) },
  };
}

/** Results of one plugin for a pod on every node: rejections and scores; "" combines all plugins. */
export function pluginShades(matrix: Matrix, plugin: string, palette: Palette): Shades {
  const rejected = new Map<number, string>();
  for (const filter of matrix.filters) {
    if (plugin !== "" && filter.plugin !== plugin) continue;
    filter.verdict.forEach((code, index) => {
      const row = matrix.row[index] ?? -1;
      const verdict = matrix.verdicts[code];
      if (verdict && !rejected.has(row)) rejected.set(row, `${verdict.plugin}: ${(verdict.reasons ?? []).join(", ")}`);
    });
  }
  const scores = scoresByRow(matrix, plugin);
  const values = [...scores.values()];
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const share = (score: number) => (most > least ? (score - least) / (most - least) : 0.5);
  return {
    colour: (row) => {
      const score = scores.get(row);
      if (rejected.has(row)) return palette.over;
      return score === undefined ? palette.none : (palette.scale[stepOf(0.06 + 0.93 * share(score))] ?? palette.none);
    },
    text: (row) => rejected.get(row) ?? (scores.has(row) ? `${plugin || "total"} ${trimmed(scores.get(row) ?? 0)}` : "passes, does not score"),
    legend: [
      { colour: palette.over, text: "rejected" },
      { colour: palette.none, text: "not scored" },
    ],
    ...(values.length ? { scale: { low: trimmed(least), high: trimmed(most) } } : {}),
  };
}

/** Number of pods of a comparison per node, on one side; both sides have the same scale. */
export function placementShades(nodes: NodeTable, decisions: readonly ComparedDecision[], side: "a" | "b", palette: Palette): Shades {
  const both = { a: podsByNode(decisions, "a"), b: podsByNode(decisions, "b") };
  const most = Math.max(1, ...both.a.values(), ...both.b.values());
  const of = (row: number): number => both[side].get(nodes.names[row] ?? "") ?? 0;
  return {
    colour: (row) => (of(row) ? (palette.scale[stepOf(0.08 + (0.91 * of(row)) / most)] ?? palette.none) : palette.none),
    text: (row) => `${count(of(row), "pod")} here, ${grouped(both[side === "a" ? "b" : "a"].get(nodes.names[row] ?? "") ?? 0)} ${side === "a" ? "as edited" : "as decided"}`,
    legend: [{ colour: palette.none, text: "none of these pods" }],
    ...(most > 1 ? { scale: { low: "1", high: count(most, "pod") } } : {}),
  };
}

function podsByNode(decisions: readonly ComparedDecision[], side: "a" | "b"): Map<string, number> {
  const found = new Map<string, number>();
  for (const decision of decisions) if (decision[side]) found.set(decision[side], (found.get(decision[side]) ?? 0) + 1);
  return found;
}

function scoresByRow(matrix: Matrix, plugin: string): Map<number, number> {
  const column = plugin === "" ? matrix.total : matrix.scores.find((score) => score.plugin === plugin)?.weighted;
  const scores = new Map<number, number>();
  if (!column?.length) return scores;
  matrix.scored.forEach((index, place) => scores.set(matrix.row[index] ?? -1, column[place] ?? 0));
  return scores;
}

/** Return evenly spaced colours of the scale, for a legend. */
export function ramp(palette: Palette): string[] {
  return Array.from({ length: 8 }, (_, place) => palette.scale[Math.round((place * (STEPS - 1)) / 7)] ?? palette.none);
}
