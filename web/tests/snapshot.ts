// SPDX-License-Identifier: Apache-2.0
/** A small cluster for tests: four nodes in two zones, one of them tainted, rows with a gap. */
import type { ClusterSnapshot } from "../src/api/types";

export function smallCluster(): ClusterSnapshot {
  return {
    epoch: "e",
    seq: 7,
    now: 100,
    resources: ["cpu", "memory"],
    taintSets: [[], [{ key: "gpu", effect: "NoSchedule" }]],
    nodes: {
      row: [0, 1, 3, 4],
      name: ["a", "b", "c", "d"],
      created: [1, 2, 3, 4],
      unschedulable: [0, 1, 0, 0],
      ready: [1, 1, 1, 0],
      pods: [2, 0, 5, 1],
      allowedPods: [10, 10, 10, 10],
      allocatable: [
        [4000, 4000, 8000, 8000],
        [100, 100, 200, 0],
      ],
      requested: [
        [1000, 0, 8000, 2000],
        [50, 0, 20, 0],
      ],
      taints: [0, 0, 1, 0],
      labels: { zone: { values: ["x", "y"], codes: [0, 0, 1, -1] } },
    },
    totals: { nodes: 4, pods: 8, allowedPods: 40, pending: 0, allocatable: [24000, 400], requested: [11000, 70] },
    lanes: { active: 0, backoff: 0, errorBackoff: 0, unschedulable: 0, gated: 0, inFlight: 0 },
    ratePoints: { at: [], scheduled: [], unschedulable: [], errors: [], latencyP50: [], latencyP99: [] },
    events: [],
  };
}
