// SPDX-License-Identifier: Apache-2.0
/**
 * The latest events. Kubelets report several events per pod, so theirs are stored separately and do not displace the
 * others.
 */
import type { EventRow } from "../api/types";

export const KUBELET = "kubelet";
const KEPT = 200;

/** Equal events: the same message, about one object or about several. */
export interface EventGroup extends EventRow {
  /** Objects of the events, latest first. */
  readonly objects: readonly string[];
  /** Total number of occurrences. */
  readonly times: number;
}

/** Return the events, newest first, after adding others, oldest first. */
export function withNews(known: readonly EventRow[], news: readonly EventRow[]): EventRow[] {
  let [kubelets, others] = [0, 0];
  return [...news.toReversed(), ...known].filter(({ component }) => (component === KUBELET ? (kubelets += 1) : (others += 1)) <= KEPT);
}

/** Return the events of one component; "" for all but kubelets, "all" for all. */
export function eventsOf(events: readonly EventRow[], component: string): readonly EventRow[] {
  if (component === "all") return events;
  return events.filter((event) => (component ? event.component === component : event.component !== KUBELET));
}

/** Names of the components that have reported events. */
export function components(events: readonly EventRow[]): string[] {
  return [...new Set(events.map((event) => event.component).filter(Boolean))].sort();
}

/** Group equal events, each group at the place of its latest event. An event with a count has occurred that often. */
export function groupEvents(events: readonly EventRow[]): EventGroup[] {
  const groups = new Map<string, { latest: EventRow; times: Map<string, { rows: number; counted: number }> }>();
  for (const event of events) {
    const key = JSON.stringify([event.type, event.reason, event.message, event.component, event.about.split(" ")[0]]);
    const group = groups.get(key) ?? { latest: event, times: new Map() };
    groups.set(key, group);
    const times = group.times.get(event.about) ?? { rows: 0, counted: 0 };
    group.times.set(event.about, { rows: times.rows + 1, counted: Math.max(times.counted, event.count ?? 1) });
  }
  return [...groups.values()].map(({ latest, times }) => ({
    ...latest,
    objects: [...times.keys()],
    times: [...times.values()].reduce((sum, { rows, counted }) => sum + Math.max(rows, counted), 0),
  }));
}
