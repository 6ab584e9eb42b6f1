# SPDX-License-Identifier: Apache-2.0
"""The more important pod comes first, whoever was there before."""

from __future__ import annotations

from tests.e2e.comparing import EACH_VERSION, run_both
from tests.e2e.objects import create_priority_classes, prioritised

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import ControlPlane, KubeClient, manifest

pytestmark = EACH_VERSION


def prepare(admin: KubeClient) -> None:
    create_priority_classes(admin)
    admin.create_nodes(manifest(make_node("n1").capacity(cpu="1", memory="8Gi")))
    admin.create(prioritised(make_pod("first").req(cpu="1"), "low"))
    admin.create(prioritised(make_pod("important").req(cpu="1"), "high"))


def test_the_last_room_goes_to_the_pod_of_the_highest_priority(shared_plane: ControlPlane) -> None:
    both = run_both(shared_plane, prepare)

    assert both.steersman == both.upstream
    assert (both.steersman.node("important"), both.steersman.node("first")) == ("n1", "")
