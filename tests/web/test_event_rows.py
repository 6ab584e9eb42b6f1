# SPDX-License-Identifier: Apache-2.0
"""The last events: those of kubelets, of which there are many, do not crowd out the others."""

from __future__ import annotations

from steersman.sandbox.web.answers import EventRow
from steersman.sandbox.web.event_rows import MAX_KEPT, EventRows


def event(at: float, component: str, about: str = "Pod default/p") -> EventRow:
    return EventRow(at, "Normal", "Said", about, "", component)


def test_events_of_kubelets_do_not_crowd_out_the_others() -> None:
    rows = EventRows()
    rows.add(event(0.0, "default-scheduler"))
    for number in range(2 * MAX_KEPT):
        rows.add(event(1.0 + number, "kubelet"))
    found = rows.recent(10)
    assert [row.component for row in found] == [*["kubelet"] * 10, "default-scheduler"]
    assert [row.at for row in found[:2]] == [2.0 * MAX_KEPT, 2.0 * MAX_KEPT - 1]
    assert [row.component for row in rows.about("Pod default/p", 10_000)].count("kubelet") == MAX_KEPT
    assert rows.about("Pod default/other", 10) == []


def test_events_come_in_the_order_in_which_they_were_reported() -> None:
    rows = EventRows()
    components = ["kubelet", "default-scheduler", "kubelet", "job-controller", "kubelet"]
    for number, component in enumerate(components):
        rows.add(event(float(number), component))
    news, number = rows.since(1, 50)
    assert ([row.component for row in news], number) == (components[1:], 5)
    assert rows.since(number, 50) == ([], 5)
    assert [row.at for row in rows.since(0, 1)[0]] == [3.0, 4.0]
