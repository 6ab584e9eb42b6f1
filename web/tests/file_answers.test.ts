// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { answerFromFile } from "../src/api/file_answers";
import { partsOfText, ReportFile } from "../src/api/report_file";
import type { PodTable, SearchResult } from "../src/api/types";
import { compareRuns, elsewhere, joined, withReasons } from "../src/runs";
import { smallCluster } from "./snapshot";

const PODS: PodTable = {
  now: 100, total: 4, offset: 0,
  pod: ["default/web-0", "default/web-1", "kube-system/dns", "default/late"],
  place: ["bound", "bound", "bound", "unschedulable"],
  node: ["a", "c", "a", ""],
  phase: ["Running", "Running", "Running", "Pending"],
  priority: [0, 0, 2000, 0], created: [1, 2, 3, 4], attempts: [1, 1, 1, 3],
  resources: ["cpu"], requests: [[100, 200, 300, 400]],
};
const KNOWN: Record<string, unknown> = { pods: PODS, cluster: smallCluster(), "pods/default/web-0": { pod: "default/web-0" } };

const ANSWERS = (path: string) => Promise.resolve(KNOWN[path]);

describe("a report file", () => {
  it("answers by path, and not what it does not hold", async () => {
    expect(await answerFromFile(ANSWERS, "pods/default/web-0", {})).toEqual({ pod: "default/web-0" });
    expect(await answerFromFile(ANSWERS, "pods/default/web-9", {})).toBeUndefined();
  });

  it("selects pods as a server would", async () => {
    const on = async (query: object) => ((await answerFromFile(ANSWERS, "pods", query as never)) as PodTable).pod;
    expect(await on({ node: "a" })).toEqual(["default/web-0", "kube-system/dns"]);
    expect(await on({ place: "unschedulable" })).toEqual(["default/late"]);
    expect(await on({ namespace: "default", text: "web", limit: 1, offset: 1 })).toEqual(["default/web-1"]);
    expect(((await answerFromFile(ANSWERS, "pods", { node: "c" })) as PodTable).requests).toEqual([[200]]);
  });

  it("finds names, those that begin with the text first", async () => {
    const found = (await answerFromFile(ANSWERS, "search", { q: "d" })) as SearchResult;
    expect(found.nodes).toEqual([{ name: "d", row: 4 }]);
    expect(found.pods.map(({ pod }) => pod)).toEqual(["default/web-0", "default/web-1", "kube-system/dns", "default/late"]);
    expect(((await answerFromFile(ANSWERS, "search", { q: "web-1" })) as SearchResult).pods).toHaveLength(1);
  });
});

async function packed(block: object): Promise<string> {
  const stream = new Blob([JSON.stringify(block)]).stream().pipeThrough(new CompressionStream("gzip"));
  return btoa(String.fromCharCode(...new Uint8Array(await new Response(stream).arrayBuffer())));
}

it("unpacks the blocks of a report when they are asked for", async () => {
  const blocks = [{ info: 1, "pods/default/a": 2 }, { info: {} }, { "pods/default/a": { pod: "default/a" } }];
  const elements = await Promise.all(blocks.map(async (block, place) => `<script type="text/plain" id="steersman-block-${place}">${await packed(block)}</script>`));
  const asked: string[] = [];
  const parts = partsOfText(`<script type="application/json" id="steersman-data">{"info":{},"blocks":3}</script>${elements.join("")}`);
  const report = ReportFile.of((id) => (asked.push(id), parts(id)));
  expect(await report?.answer("pods/default/a")).toEqual({ pod: "default/a" });
  expect(await report?.answer("pods/default/b")).toBeUndefined();
  expect(asked).toEqual(["steersman-data", "steersman-block-0", "steersman-block-2"]);
  expect(ReportFile.of(partsOfText("<p>another page</p>"))).toBeNull();
});

it("compares two runs by the pods that both have", () => {
  const other = { ...PODS, pod: ["default/web-0", "default/web-1", "default/late", "default/new"], node: ["a", "a", "b", ""] };
  const comparison = compareRuns(PODS, other);
  expect(comparison).toMatchObject({ pods: 3, moved: 1, onlyA: 0, onlyB: 1, notes: ["1 pods are in this run alone.", "1 pods are in the other run alone."] });
  expect(comparison.decisions.map(({ pod, same }) => [pod, same])).toEqual([["default/web-0", true], ["default/web-1", false], ["default/late", false]]);
});

it("takes over why pods are elsewhere, and says of how many nobody knows", () => {
  const other = { ...PODS, node: ["c", "a", "a", ""] };
  const runs = compareRuns(PODS, other);
  expect(elsewhere(runs, 10)).toEqual({ "default/web-0": "c", "default/web-1": "a" });
  expect(elsewhere(runs, 1)).toEqual({ "default/web-1": "a" });
  const decided = { pod: "default/web-1", at: 9, a: "c", b: "a", same: false, plugin: "NodeResourcesFit", why: "it is fuller" };
  const explained = withReasons(runs, { ...runs, decisions: [decided], notes: ["a note"] });
  expect(explained.decisions[1]).toMatchObject({ plugin: "NodeResourcesFit", at: 2 });
  expect(explained.notes).toEqual(["a note", "1 pods were not decided lately enough for a plugin to be named."]);
});

it("joins the pages of a table", () => {
  expect(joined([PODS, PODS])).toMatchObject({ total: 4, pod: [...PODS.pod, ...PODS.pod], requests: [[100, 200, 300, 400, 100, 200, 300, 400]] });
});
