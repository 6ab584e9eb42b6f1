# SPDX-License-Identifier: Apache-2.0
"""A pod that fails again and again for one reason: its event becomes a series, as client-go counts."""

from __future__ import annotations

import itertools

from tests.e2e.cleaning import empty
from tests.e2e.comparing import EACH_VERSION
from tests.e2e.pictures import scheduling_events

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import (
    ControlPlane,
    JsonObject,
    KubeClient,
    KubeScheduler,
    Steersman,
    condition,
    manifest,
)

pytestmark = EACH_VERSION


def test_the_same_failures_make_the_same_events(plane: ControlPlane) -> None:
    upstream, ours = (failures(plane, scheduler) for scheduler in (KubeScheduler, Steersman))

    # An event is about a version of the pod: the first may stand alone, since reporting it changed the pod.
    assert {text for text, _ in ours} == {text for text, _ in upstream}
    assert max(count for _, count in ours) == max(count for _, count in upstream) == 2


def failures(plane: ControlPlane, scheduler: type[KubeScheduler] | type[Steersman]) -> list[tuple[str, int]]:
    """(text, count) of the events of a pod that was tried at least three times."""
    admin = plane.admin
    tainted = make_node("tainted").capacity(cpu="8", memory="8Gi").taint("k")
    admin.create_nodes(manifest(tainted), manifest(make_node("small").capacity(cpu="1", memory="8Gi")))
    admin.create(manifest(make_pod("large").req(cpu="4")))
    with scheduler(plane):
        admin.wait_until(lambda: condition(admin.get("Pod", "large"), "PodScheduled"), what="the first failure")
        sizes = itertools.count(9)

        def repeated() -> bool:
            # More cpu on a node with enough of it: worth another try, and the taint is still there.
            size = {"cpu": str(next(sizes))}
            admin.patch("Node", "tainted", {"status": {"allocatable": size, "capacity": size}}, subresource="status")
            return any("series" in event for event in events(admin))

        admin.wait_until(repeated, what="a series of events")
    found = sorted((event["note"], event.get("series", {}).get("count", 1)) for event in events(admin))
    empty(admin)
    return found


def events(admin: KubeClient) -> list[JsonObject]:
    return scheduling_events(admin, "default")
