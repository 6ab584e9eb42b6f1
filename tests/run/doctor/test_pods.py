# SPDX-License-Identifier: Apache-2.0
"""Schedulers of one name at the same time, and pods that nobody serves."""

from __future__ import annotations

import pytest
from tests.client.api_server import ApiServer
from tests.run.doctor.examining import an_event, examined, hold_lease, named, of

from steersman.run.doctor import Level
from steersman.testing import make_pod

HOUR = 1_900_000_000.0


def heard(*instances: str) -> ApiServer:
    """Events of the default scheduler by these instances, one after the other."""
    server = ApiServer()
    for index, instance in enumerate(instances):
        server.store.create(an_event(f"e{index}", "default-scheduler", instance, HOUR + index))
    return server


@pytest.mark.parametrize(
    ("instances", "level"),
    [
        ((), Level.OK),
        (("a", "a", "a"), Level.OK),
        (("a", "a", "b", "b"), Level.OK),
        # A kube-scheduler that restarts: its events about the lease name no instance.
        (("a", "", "a", "", "a", "", "a"), Level.OK),
        (("", ""), Level.OK),
        (("a", "b", "a"), Level.WARN),
        (("a", "b", "a", "b", "a"), Level.FAIL),
    ],
)
def test_replicas_follow_each_other_and_rivals_alternate(instances: tuple[str, ...], level: Level) -> None:
    findings = [one for one in examined(heard(*instances)).findings if "default-scheduler" in one.message]
    assert level in {finding.level for finding in findings if finding.check == "schedulers"}


def test_pods_of_a_scheduler_that_does_not_run_are_named() -> None:
    server = ApiServer()
    for index in range(4):
        server.store.create(make_pod(f"lost-{index}").scheduler("ghost").obj())
    (finding,) = of(examined(server), "pods", Level.WARN)
    some = "default/lost-0, default/lost-1, default/lost-2, …"
    assert finding.message == f"nothing was heard lately of scheduler ghost; pods that ask for it: 4 ({some})"


def test_pods_of_a_scheduler_with_recent_events_or_a_lease_are_fine() -> None:
    server = ApiServer()
    server.store.create(make_pod("theirs").scheduler("other").obj())
    server.store.create(an_event("e", "other", "other-host", HOUR))
    server.store.create(make_pod("usual").obj())
    hold_lease(server, "kube-scheduler", "host_1")
    report = examined(server, named("night"))
    assert not of(report, "pods", Level.WARN)
    assert of(report, "pods", Level.OK)[0].message == "pods that wait for night: 0"


def test_placed_and_terminating_pods_need_no_scheduler() -> None:
    server = ApiServer()
    server.store.create(make_pod("placed").scheduler("ghost").node("n1").obj())
    assert not of(examined(server), "pods", Level.WARN)
