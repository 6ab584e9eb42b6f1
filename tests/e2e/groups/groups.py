# SPDX-License-Identifier: Apache-2.0
"""Objects of the comparisons of pod groups, and the feature gates that they need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tests.e2e.comparing import Both, run_both
from tests.e2e.objects import HOSTNAME, on, prioritised

from steersman.testing import NodeBuilder, PodBuilder, PodGroupBuilder, make_node, make_pod
from steersman.testing.control_plane import ControlPlane, JsonObject, KubeClient, bound_to, condition, manifest

GATES: Final = "--feature-gates=" + ",".join(
    f"{name}=true"
    for name in (
        "CompositePodGroup",
        "DRAWorkloadResourceClaims",
        "GenericWorkload",
        "PodGroupPreemptionPolicy",
        "TopologyAwareWorkloadScheduling",
    )
)


def run_groups(plane: ControlPlane, prepare: Callable[[KubeClient], None], act: Callable[[KubeClient], None]) -> Both:
    """Run the scenario with both schedulers and the gates of pod groups."""
    return run_both(plane, prepare, act=act, flags=[GATES])


def small(name: str, cpu: str = "2") -> NodeBuilder:
    return make_node(name).capacity(cpu=cpu, memory="8Gi").label(HOSTNAME, name)


def member(group: str, name: str, *nodes: str, cpu: str = "1") -> PodBuilder:
    """Build a member that may run on these nodes only: nothing is left to chance."""
    return on(make_pod(f"{group}-{name}"), *nodes).in_group(group).req(cpu=cpu)


def important(group: PodGroupBuilder, *members: PodBuilder, priority: str = "high") -> list[JsonObject]:
    """Return the group and its members with a priority class."""
    made = manifest(group)
    made["spec"]["priorityClassName"] = priority
    return [made, *(prioritised(one, priority) for one in members)]


def create_in_order(admin: KubeClient, objects: list[JsonObject]) -> None:
    for one in objects:
        admin.create(one)


def wait_for_nodes(admin: KubeClient, *names: str) -> None:
    admin.wait_until(lambda: all(bound_to(admin.get("Pod", name)) for name in names), what=f"nodes for {names}")


def wait_for_decisions(admin: KubeClient, *names: str) -> None:
    """Wait until the scheduler has bound or refused each of the pods."""
    admin.wait_until(
        lambda: all(condition(admin.get("Pod", name), "PodScheduled") for name in names), what=f"decisions on {names}"
    )
