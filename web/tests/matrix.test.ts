// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import type { Matrix } from "../src/api/types";
import { palette } from "../src/map/colours";
import { pluginShades } from "../src/map/shades";
import { MatrixView } from "../src/matrix";

/** Four nodes: the last is rejected; the second wins by the spreading, although the first fits better. */
const MATRIX: Matrix = {
  pod: "default/web-0", profile: "default-scheduler", source: "now", at: 1, outcome: "scheduled", message: "", node: "b", placedOn: "", ties: 1, lead: 20, nominatedOnly: false,
  nodes: ["a", "b", "c", "d"], row: [10, 11, 12, 13], fits: [1, 1, 1, 0], objections: [0, 0, 0, 1],
  preFilter: { skipped: [] },
  filters: [
    { plugin: "NodeName", skipped: true, verdict: [] },
    { plugin: "TaintToleration", skipped: false, verdict: [-1, -1, -1, 0] },
    { plugin: "NodeResourcesFit", skipped: false, verdict: [-1, -1, -1, -2] },
  ],
  verdicts: [{ plugin: "TaintToleration", code: "UnschedulableAndUnresolvable", reasons: ["node(s) had untolerated taint(s)"] }],
  scored: [2, 1, 0], total: [40, 130, 110],
  scores: [
    { plugin: "NodeResourcesFit", weight: 1, skipped: false, raw: [40, 30, 50], normalised: [40, 30, 50], weighted: [40, 30, 50] },
    { plugin: "PodTopologySpread", weight: 2, skipped: false, raw: [9, 1, 4], normalised: [0, 50, 30], weighted: [0, 100, 60] },
    { plugin: "ImageLocality", weight: 1, skipped: true, raw: [], normalised: [], weighted: [] },
  ],
  cause: { code: "", sentence: "" },
};

describe("the matrix", () => {
  const view = new MatrixView(MATRIX);

  it("aligns scores with the nodes that were scored", () => {
    expect([0, 1, 2, 3].map((node) => view.total(node))).toEqual([110, 130, 40, null]);
    expect(view.score(0, "PodTopologySpread", "raw")).toBe(4);
    expect(view.score(3, "PodTopologySpread", "raw")).toBeNull();
  });

  it("says who rejects a node, in upstream's words", () => {
    expect(view.rejection(3)).toBe("TaintToleration: node(s) had untolerated taint(s)");
    expect(view.rejection(0)).toBe("");
    expect([view.wasAsked(0, "NodeResourcesFit"), view.wasAsked(3, "NodeResourcesFit")]).toEqual([true, false]);
  });

  it("leaves plugins out that have nothing to do", () => {
    expect(view.plugins).toEqual(["TaintToleration", "NodeResourcesFit", "PodTopologySpread"]);
    expect(view.skipped).toEqual(["NodeName", "ImageLocality"]);
  });

  it("says which plugin made the winner win, and which spoke against it", () => {
    expect(view.runnerUp(1)).toBe(0);
    expect(view.difference(1, 0)).toEqual([
      { plugin: "PodTopologySpread", by: 40 },
      { plugin: "NodeResourcesFit", by: -20 },
    ]);
  });

  it("shows verdicts and scores in one column per plugin", () => {
    const columns = view.columns("normalised", (node) => `#${node}`);
    expect(columns.map((column) => column.title)).toEqual(["Node", "Total", "Rejected by", "TaintToleration", "NodeResourcesFit ×1", "PodTopologySpread ×2"]);
    expect(columns[3]?.text?.(3)).toBe("✕ node(s) had untolerated taint(s)");
    expect(columns[3]?.text?.(0)).toBe("✓");
    expect(columns[5]?.value(0)).toBe(30);
    expect(columns[5]?.hint?.(0)).toBe("raw 4, normalised 30, weighted 60");
  });

  it("colours the map by what a plugin says", () => {
    const colours = palette(false);
    const shades = pluginShades(MATRIX, "PodTopologySpread", colours);
    expect(shades.scale).toEqual({ low: "0", high: "100" });
    expect(shades.text(11)).toBe("PodTopologySpread 100");
    expect(pluginShades(MATRIX, "TaintToleration", colours).colour(13)).toBe(colours.over);
    expect(pluginShades(MATRIX, "", colours).text(10)).toBe("total 110");
  });
});
