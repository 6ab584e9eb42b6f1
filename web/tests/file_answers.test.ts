// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { answerFromFile } from "../src/api/file_answers";
import type { PodTable, SearchResult } from "../src/api/types";
import { compareRuns } from "../src/runs";
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
const ANSWERS = { pods: PODS, cluster: smallCluster(), "pods/default/web-0": { pod: "default/web-0" } };

describe("a report file", () => {
  it("answers by path, and not what it does not hold", () => {
    expect(answerFromFile(ANSWERS, "pods/default/web-0", {})).toEqual({ pod: "default/web-0" });
    expect(answerFromFile(ANSWERS, "pods/default/web-9", {})).toBeUndefined();
  });

  it("selects pods as a server would", () => {
    const on = (query: object) => (answerFromFile(ANSWERS, "pods", query as never) as PodTable).pod;
    expect(on({ node: "a" })).toEqual(["default/web-0", "kube-system/dns"]);
    expect(on({ place: "unschedulable" })).toEqual(["default/late"]);
    expect(on({ namespace: "default", text: "web", limit: 1, offset: 1 })).toEqual(["default/web-1"]);
    expect((answerFromFile(ANSWERS, "pods", { node: "c" }) as PodTable).requests).toEqual([[200]]);
  });

  it("finds names, those that begin with the text first", () => {
    const found = answerFromFile(ANSWERS, "search", { q: "d" }) as SearchResult;
    expect(found.nodes).toEqual([{ name: "d", row: 4 }]);
    expect(found.pods.map(({ pod }) => pod)).toEqual(["default/web-0", "default/web-1", "kube-system/dns", "default/late"]);
    expect((answerFromFile(ANSWERS, "search", { q: "web-1" }) as SearchResult).pods).toHaveLength(1);
  });
});

it("compares two runs by the pods that both have", () => {
  const other = { ...PODS, pod: ["default/web-0", "default/web-1", "default/late", "default/new"], node: ["a", "a", "b", ""] };
  const comparison = compareRuns(PODS, other);
  expect(comparison).toMatchObject({ pods: 3, moved: 1, onlyA: 0, onlyB: 1, notes: ["1 pods are in this run alone.", "1 pods are in the other run alone."] });
  expect(comparison.decisions.map(({ pod, same }) => [pod, same])).toEqual([["default/web-0", true], ["default/web-1", false], ["default/late", false]]);
});
