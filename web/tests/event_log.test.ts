// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest";
import type { EventRow } from "../src/api/types";
import { components, eventsOf, withNews } from "../src/state/event_log";

const event = (at: number, component: string): EventRow => ({ at, type: "Normal", reason: "R", about: "Pod default/p", message: "", component });

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
