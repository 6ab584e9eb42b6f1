// SPDX-License-Identifier: Apache-2.0
/** Answers from a report file, which has whole tables: selections that a server makes are made here. */
import type { Parameters } from "./host";
import type { Answers } from "./report_file";
import type { ClusterSnapshot, PodTable, SearchResult } from "./types";

const FOUND = 20;

/** Return the answer to a path and its query, or undefined if the file has none. */
export async function answerFromFile(answers: Answers, path: string, query: Parameters): Promise<unknown> {
  if (path === "search") return search(answers, String(query["q"] ?? ""));
  const answer = await answers(decoded(path));
  if (path === "pods" && answer !== undefined) return selectPods(answer as PodTable, query);
  return answer;
}

/** Return the rows of a table of pods that match a query. */
export function selectPods(table: PodTable, query: Parameters): PodTable {
  const text = String(query["text"] ?? "");
  const wanted = (index: number): boolean =>
    matches(table.node[index], query["node"]) &&
    matches(table.place[index], query["place"]) &&
    matches(table.pod[index]?.split("/")[0], query["namespace"]) &&
    (table.pod[index] ?? "").includes(text);
  const all = table.pod.map((_, index) => index).filter(wanted);
  const offset = Number(query["offset"] ?? 0);
  const rows = all.slice(offset, offset + Number(query["limit"] ?? 500));
  const pick = <T>(column: readonly T[]): T[] => rows.map((row) => column[row] as T);
  return {
    now: table.now,
    total: all.length,
    offset,
    pod: pick(table.pod),
    place: pick(table.place),
    node: pick(table.node),
    phase: pick(table.phase),
    priority: pick(table.priority),
    created: pick(table.created),
    attempts: pick(table.attempts),
    resources: table.resources,
    requests: table.requests.map(pick),
  };
}

function matches(value: string | undefined, wanted: Parameters[string]): boolean {
  return wanted === undefined || wanted === null || wanted === "" || value === wanted;
}

async function search(answers: Answers, text: string): Promise<SearchResult> {
  const cluster = (await answers("cluster")) as ClusterSnapshot | undefined;
  const table = (await answers("pods")) as PodTable | undefined;
  const names = cluster?.nodes.name ?? [];
  const nodes = ranked(names, text).map((index) => ({ name: names[index] ?? "", row: cluster?.nodes.row[index] ?? -1 }));
  const found = table ? ranked(table.pod, text) : [];
  const pods = found.map((index) => ({ pod: table?.pod[index] ?? "", place: table?.place[index] ?? "bound", node: table?.node[index] ?? "" }));
  return { nodes: nodes.slice(0, FOUND), pods: pods.slice(0, FOUND), truncated: nodes.length + pods.length > 2 * FOUND };
}

/** Return indexes of the names that contain a text; those that begin with it come first. */
function ranked(names: readonly string[], text: string): number[] {
  const [first, later]: [number[], number[]] = [[], []];
  names.forEach((name, index) => {
    const short = name.slice(name.indexOf("/") + 1);
    if (short.startsWith(text) || name.startsWith(text)) first.push(index);
    else if (name.includes(text)) later.push(index);
  });
  return [...first, ...later];
}

function decoded(path: string): string {
  return path.split("/").map(decodeURIComponent).join("/");
}
