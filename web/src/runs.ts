// SPDX-License-Identifier: Apache-2.0
/** Two runs side by side, by the pods that both have. */
import type { ComparedDecision, Comparison, PodTable } from "./api/types";

/** Where the pods of one run are in another; how many nodes each uses. Pods of one run alone are counted in the notes. */
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

function why(before: string, after: string): string {
  if (!after) return "has no node in the other run";
  return before ? "is on another node in the other run" : "has no node in this run";
}

function missing(number: number, run: string): string {
  return number > 0 ? `${number} pods are in ${run} alone.` : "";
}

const used = (table: PodTable): number => new Set(table.node.filter(Boolean)).size;
const waiting = (table: PodTable): number => table.node.filter((node) => !node).length;
