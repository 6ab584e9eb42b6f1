// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { NodeTable } from "../src/state/node_table";
import { smallCluster } from "./snapshot";

describe("the node table", () => {
  it("puts every value into the row that the server named", () => {
    const table = new NodeTable(smallCluster());
    expect(table.living()).toEqual([0, 1, 3, 4]);
    expect([table.rowOf("c"), table.rowOf("nobody")]).toEqual([3, -1]);
    expect(table.utilisation(3, "cpu")).toBe(1);
    expect(table.utilisation(0, "pods")).toBe(0.2);
    expect(table.dominant(0)).toBe(0.5);
    expect(table.labelsOf(3)).toEqual({ zone: "y" });
  });

  it("groups nodes by a label, those without it apart", () => {
    const groups = new NodeTable(smallCluster()).groups("zone");
    expect(Object.fromEntries(groups)).toEqual({ x: [0, 1], y: [3], "without zone": [4] });
    expect([...new NodeTable(smallCluster()).groups("").values()]).toEqual([[0, 1, 3, 4]]);
  });

  it("takes new numbers of nodes, and says which", () => {
    const table = new NodeTable(smallCluster());
    const change = table.apply({ from: 7, seq: 8, now: 101, used: { row: [1, 3], pods: [4, 6], requested: [[400, 100], [5, 6]] } });
    expect(change).toEqual({ dirty: [1, 3], reshaped: false });
    expect([table.pods[1], table.requested[0]?.[3], table.requested[1]?.[1]]).toEqual([4, 100, 5]);
  });

  it("takes nodes that come, beyond its rows as well, with new resources, labels and taints", () => {
    const table = new NodeTable(smallCluster());
    const node = { row: 9, name: "new", created: 9, unschedulable: 0 as const, ready: 1 as const, pods: 1, allowedPods: 5, allocatable: [1000, 10, 4], requested: [500, 1, 2], taints: [{ key: "k", effect: "NoExecute" }], labels: { zone: "z", pool: "p" } };
    const change = table.apply({ from: 7, seq: 8, now: 101, resources: ["gpu"], nodes: [node] });
    expect(change).toEqual({ dirty: [9], reshaped: true });
    expect(table.rowOf("new")).toBe(9);
    expect(table.utilisation(9, "gpu")).toBe(0.5);
    expect(table.utilisation(0, "gpu")).toBe(0);
    expect(table.taintSets[table.taints[9] ?? -1]).toEqual([{ key: "k", effect: "NoExecute" }]);
    expect(table.labelsOf(9)).toEqual({ pool: "p", zone: "z" });
    expect(table.label(0, "pool")).toBeUndefined();
    expect(table.groups("pool").get("without pool")).toEqual([0, 1, 3, 4]);
  });

  it("forgets nodes that go, and gives their row to another", () => {
    const table = new NodeTable(smallCluster());
    expect(table.apply({ from: 7, seq: 8, now: 101, removed: [1] }).reshaped).toBe(true);
    expect([table.rowOf("b"), table.living()]).toEqual([-1, [0, 3, 4]]);
    const node = { row: 1, name: "e", created: 9, unschedulable: 0 as const, ready: 1 as const, pods: 0, allowedPods: 5, allocatable: [1, 1], requested: [0, 0], taints: [], labels: {} };
    table.apply({ from: 8, seq: 9, now: 102, nodes: [node] });
    expect([table.rowOf("e"), table.label(1, "zone")]).toEqual([1, undefined]);
  });
});
