# SPDX-License-Identifier: Apache-2.0
"""A plugin that needs a custom resource: manifests, objects and events of it in a simulation, without a fork."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from steersman import Simulation, api
from steersman.base.errors import InputError
from steersman.framework import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EnqueueExtensions,
    FilterPlugin,
    Handle,
    NodeInfo,
    PodInfo,
    QueueingHint,
    changed,
)
from steersman.testing import Harness, make_node, make_pod

LIMIT = api.custom_kind("example.com/v1", "Limit", "limits")


class TeamSpec(api.Struct, frozen=True):
    member_count: int = 0


class Team(api.Object, frozen=True):
    API_VERSION, KIND, PLURAL, NAMESPACED = "example.com/v1", "Team", "teams", False

    spec: TeamSpec = TeamSpec()


class Limits(FilterPlugin, EnqueueExtensions):
    """A namespace has room for as many pods as its limit says, if it has a team."""

    name = "Limits"
    kinds = (LIMIT, Team)

    def __init__(self, args: object, handle: Handle) -> None:
        self._objects = handle.objects

    def filter(self, pod: PodInfo, node: NodeInfo) -> bool | str:
        limits = self._objects.list(LIMIT, pod.namespace)
        if not limits or sum(limit.spec.get("pods", 0) for limit in limits) <= node.pod_count:
            return "the namespace has no room"
        team = self._objects.get(Team, "a")
        return team is not None and team.spec.member_count > 0

    def events_to_register(self) -> Iterable[ClusterEventWithHint]:
        yield ClusterEventWithHint(ClusterEvent("example.com/Limit", ActionType.ADD | ActionType.UPDATE), self._is_near)
        yield ClusterEventWithHint(ClusterEvent("example.com/Team", ActionType.ALL))

    def _is_near(self, pod: api.Pod, old: object, new: object) -> QueueingHint:
        _, limit = changed(LIMIT, old, new)
        is_near = limit.metadata.namespace == pod.metadata.namespace
        return QueueingHint.QUEUE if is_near else QueueingHint.SKIP


def limit(pods: int, namespace: str = "default") -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Limit",
        "metadata": {"name": "most", "namespace": namespace},
        "spec": {"pods": pods},
    }


MANIFESTS = """
apiVersion: example.com/v1
kind: Team
metadata: {name: a}
spec: {memberCount: 3}
---
apiVersion: example.com/v1
kind: Limit
metadata: {name: most}
spec: {pods: 1}
---
apiVersion: example.com/v2
kind: Limit
metadata: {name: of-another-version}
---
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: c, image: app}]}
"""


def loaded(tmp_path: Path, text: str = MANIFESTS) -> Simulation:
    file = tmp_path / "cluster.yaml"
    file.write_text(text)
    return Simulation.load(file, plugins=[Limits])


def test_manifests_of_declared_kinds_are_loaded_in_their_version(tmp_path: Path) -> None:
    result = loaded(tmp_path).run()
    assert result.placements["default/web"].node == "n1"
    assert any("Limit (example.com/v2)" in note for note in result.notes)


def test_without_the_plugin_they_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(MANIFESTS)
    assert any("Team" in note for note in Simulation.load(file).run().notes)


def test_an_object_that_does_not_fit_its_struct_is_refused_with_the_field(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"document 1: Team a: spec.memberCount: .*\(got \"three\"\)"):
        loaded(tmp_path, MANIFESTS.replace("memberCount: 3", "memberCount: three"))


def test_changes_wake_the_pods_that_the_plugin_rejected(tmp_path: Path) -> None:
    simulation = loaded(tmp_path, MANIFESTS.replace("pods: 1}", "pods: 0}"))
    assert simulation.run().placements["default/web"].is_pending
    simulation.delete("limit/default/most")
    assert simulation.run().placements["default/web"].is_pending
    simulation.add(limit(5))
    assert simulation.run().placements["default/web"].node == "n1"


def test_a_hint_sees_the_typed_object_and_may_let_the_pod_sleep() -> None:
    team = {"apiVersion": "example.com/v1", "kind": "Team", "metadata": {"name": "a"}, "spec": {"memberCount": 1}}
    harness = Harness(plugins=[Limits], nodes=[make_node("n1")], objects=[team])
    harness.add(make_pod("web"))
    harness.run()

    harness.add(limit(5, "elsewhere"))
    assert harness.run() == []
    harness.add(limit(5))
    assert [decision.pod.key for decision in harness.run()] == ["default/web"]


def test_a_plugin_that_does_not_say_what_helps_is_woken_by_the_kinds_it_declares() -> None:
    class Opens(FilterPlugin):
        name = "Opens"
        kinds = (LIMIT,)

        def __init__(self, args: object, handle: Handle) -> None:
            self._objects = handle.objects

        def filter(self, pod: PodInfo, node: NodeInfo) -> bool:
            return bool(self._objects.list(LIMIT))

    harness = Harness(plugins=[Opens], nodes=[make_node("n1")])
    harness.add(make_pod("web"))
    harness.run()
    harness.add(limit(1))
    assert [decision.pod.key for decision in harness.run()] == ["default/web"]
