// SPDX-License-Identifier: Apache-2.0
/** The last events. Kubelets report several about every pod: theirs are counted apart, so that they do not crowd out the others. */
import type { EventRow } from "../api/types";

export const KUBELET = "kubelet";
const KEPT = 200;

/** Events, newest first, after others have come, oldest first. */
export function withNews(known: readonly EventRow[], news: readonly EventRow[]): EventRow[] {
  let [kubelets, others] = [0, 0];
  return [...news.toReversed(), ...known].filter(({ component }) => (component === KUBELET ? (kubelets += 1) : (others += 1)) <= KEPT);
}

/** Those of one component; "" stands for all but kubelets, "all" for all. */
export function eventsOf(events: readonly EventRow[], component: string): readonly EventRow[] {
  if (component === "all") return events;
  return events.filter((event) => (component ? event.component === component : event.component !== KUBELET));
}

/** Who has reported something, by name. */
export function components(events: readonly EventRow[]): string[] {
  return [...new Set(events.map((event) => event.component).filter(Boolean))].sort();
}
