# SPDX-License-Identifier: Apache-2.0
"""Nominated nodes when the world changes while victims are being stopped."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.e2e.comparing import EACH_VERSION, Both, run_both
from tests.e2e.objects import create_priority_classes, prioritised, priority_class

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import ControlPlane, KubeClient, bound_to, manifest

pytestmark = EACH_VERSION

NODE = "n1"


def prepare(admin: KubeClient) -> None:
    """A full node, and a pod that is important enough to be nominated to it."""
    create_priority_classes(admin)
    admin.create(priority_class("highest", 2000))
    admin.create_nodes(manifest(make_node(NODE).capacity(cpu="2", memory="8Gi")))
    admin.create(prioritised(make_pod("resident").node(NODE).req(cpu="2"), "low"))
    admin.create(prioritised(make_pod("preemptor").req(cpu="2"), "high"))


def nominated(admin: KubeClient, pod: str) -> str:
    node: str = admin.get("Pod", pod)["status"].get("nominatedNodeName", "")
    return node


def wait_for_nomination(admin: KubeClient) -> None:
    admin.wait_until(lambda: nominated(admin, "preemptor") == NODE, what="a nomination")
    admin.wait_until(
        lambda: "deletionTimestamp" in admin.get("Pod", "resident")["metadata"], what="the end of the victim"
    )


def another_node_comes(admin: KubeClient) -> None:
    wait_for_nomination(admin)
    admin.create_nodes(manifest(make_node("n2").capacity(cpu="2", memory="8Gi")))
    admin.wait_until(lambda: bound_to(admin.get("Pod", "preemptor")), what="the new node to be used")


def the_node_goes(admin: KubeClient) -> None:
    wait_for_nomination(admin)
    admin.delete("Node", NODE)
    admin.delete("Pod", "resident")
    admin.wait_until(lambda: not nominated(admin, "preemptor"), what="the end of the nomination")


def somebody_more_important_comes(admin: KubeClient) -> None:
    wait_for_nomination(admin)
    admin.create(prioritised(make_pod("more-important").req(cpu="2"), "highest"))
    admin.wait_until(lambda: nominated(admin, "more-important"), what="the second nomination")
    admin.delete("Pod", "resident")
    admin.wait_until(lambda: bound_to(admin.get("Pod", "more-important")), what="the more important pod's place")


def the_preemptor_goes(admin: KubeClient) -> None:
    wait_for_nomination(admin)
    admin.delete("Pod", "preemptor")
    admin.create(prioritised(make_pod("modest").req(cpu="2"), "low"))
    admin.delete("Pod", "resident")
    admin.wait_until(lambda: bound_to(admin.get("Pod", "modest")), what="the use of the room")


ENDINGS: dict[Callable[[KubeClient], None], dict[str, str]] = {
    another_node_comes: {"preemptor": "n2", "resident": NODE},
    the_node_goes: {"preemptor": ""},
    somebody_more_important_comes: {"preemptor": "", "more-important": NODE},
    the_preemptor_goes: {"modest": NODE},
}


@pytest.mark.parametrize("act", ENDINGS, ids=lambda act: act.__name__)
def test_all_pods_end_as_with_kube_scheduler(shared_plane: ControlPlane, act: Callable[[KubeClient], None]) -> None:
    both: Both = run_both(shared_plane, prepare, act=act)

    assert both.steersman.pods == both.upstream.pods
    assert {name: pod["node"] for name, pod in both.steersman.pods.items()} == ENDINGS[act]
