// SPDX-License-Identifier: Apache-2.0
/** Comparison of two runs by the pods that both have. */
import type { ComparedDecision, Comparison, PodTable } from "./api/types";

/**
 * Nodes of one run's pods in the other run, and the number of used nodes. Pods of only one run are counted in the
 * notes.
 */
export function compareRuns(a: PodTable, b: PodTable): Comparison {
  const places = new Map(b.pod.map((pod, row) => [pod, b.node[row] ?? ""]));
  const decisions: ComparedDecision[] = [];
  a.pod.forEach((pod, row) => {
    const [before, after] = [a.node[row] ?? "", places.get(pod)];
    if (after === undefined) return;
    decisions.push({ pod, at: a.created[row] ?? 0, a: before, b: after, same: before === after, ...(before === after ? {} : { why: why(before, after) }) });
  });
  const known = decisions.length;
  const notes = [missing(a.pod.length - known, "this run"), missing(b.pod.length - known, "the other run")].filter(Boolean);
  return {
    pods: known,
    moved: decisions.filter((one) => one.a && one.b && !one.same).length,
    onlyA: decisions.filter((one) => one.a && !one.b).length,
    onlyB: decisions.filter((one) => !one.a && one.b).length,
    decisions,
    summary: [
      { label: "Nodes in use", a: used(a), b: used(b) },
      { label: "Pods without a node", a: waiting(a), b: waiting(b) },
    ],
    notes,
  };
}

/** Return all pages of a query as one table. */
export function joined(tables: readonly PodTable[]): PodTable {
  const [first] = tables;
  if (!first) throw new Error("There is no table to join.");
  const all = <T>(column: (table: PodTable) => readonly T[]): T[] => tables.flatMap(column);
  return {
    ...first,
    pod: all((table) => table.pod),
    place: all((table) => table.place),
    node: all((table) => table.node),
    phase: all((table) => table.phase),
    priority: all((table) => table.priority),
    created: all((table) => table.created),
    attempts: all((table) => table.attempts),
    requests: first.resources.map((_, at) => all((table) => table.requests[at] ?? [])),
  };
}

/** Return the last moved pods, at most this number, with their nodes in the other run. */
export function elsewhere(runs: Comparison, most: number): Record<string, string> {
  const moved = runs.decisions.filter((one) => !one.same);
  return Object.fromEntries(moved.slice(-most).map(({ pod, b }) => [pod, b]));
}

/** Compare two runs, with the server's reasons after it decided the last pods again. */
export function withReasons(runs: Comparison, reasons: Comparison): Comparison {
  const known = new Map(reasons.decisions.map((one) => [one.pod, one]));
  const decisions = runs.decisions.map((one) => {
    const reason = known.get(one.pod);
    return one.same || !reason || reason.same ? one : { ...reason, at: one.at };
  });
  const unexplained = decisions.filter((one) => !one.same && !known.has(one.pod)).length;
  const note = unexplained ? `${unexplained} pods were not decided lately enough for a plugin to be named.` : "";
  return { ...runs, decisions, notes: [...runs.notes, ...reasons.notes, note].filter(Boolean) };
}

/** Compare two runs without a server that knows the reasons. */
export function withoutReasons(runs: Comparison, problem: string): Comparison {
  return { ...runs, notes: [...runs.notes, `The plugins that made the differences cannot be named: ${problem}`] };
}

function why(before: string, after: string): string {
  if (!after) return "has no node in the other run";
  return before ? "is on another node in the other run" : "has no node in this run";
}

function missing(number: number, run: string): string {
  return number > 0 ? `${number} pods are in ${run} alone.` : "";
}

const used = (table: PodTable): number => new Set(table.node.filter(Boolean)).size;
const waiting = (table: PodTable): number => table.node.filter((node) => !node).length;
