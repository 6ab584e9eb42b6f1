// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest";
import type { EventRow } from "../src/api/types";
import { components, eventsOf, groupEvents, withNews } from "../src/state/event_log";

const event = (at: number, component: string): EventRow => ({ at, type: "Normal", reason: "R", about: "Pod default/p", message: "", component, count: 1 });

it("keeps the events of the scheduler however many kubelets report", () => {
  const decided = event(1, "default-scheduler");
  const kubelets = Array.from({ length: 500 }, (_, index) => event(2 + index, "kubelet"));
  const kept = withNews([decided], kubelets);
  expect(kept).toHaveLength(201);
  expect(kept[0]?.at).toBe(501);
  expect(eventsOf(kept, "")).toEqual([decided]);
  expect(eventsOf(kept, "kubelet")).toHaveLength(200);
  expect(eventsOf(kept, "all")).toHaveLength(201);
  expect(components(kept)).toEqual(["default-scheduler", "kubelet"]);
});

it("groups equal events and says how often they happened", () => {
  const failed = (at: number, pod: string, count = 1): EventRow => ({ at, type: "Warning", reason: "FailedScheduling", about: `Pod ${pod}`, message: "0/3 nodes", component: "s", count });
  const groups = groupEvents([failed(9, "a", 25), failed(8, "b"), event(7, "x"), failed(6, "a", 24), failed(5, "b")]);
  expect(groups).toHaveLength(2);
  expect([groups[0]?.at, groups[0]?.times, groups[0]?.objects]).toEqual([9, 27, ["Pod a", "Pod b"]]);
  expect([groups[1]?.times, groups[1]?.objects]).toEqual([1, ["Pod default/p"]]);
});
