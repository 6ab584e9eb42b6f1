# SPDX-License-Identifier: Apache-2.0
"""The bundled plugin Coscheduling, and its example: pod groups of scheduler-plugins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from steersman import api
from steersman.config import ExtensionPoint
from steersman.framework import NodeInfo, PodInfo, ScorePlugin
from steersman.scheduler.assembly.registry import register
from steersman.scheduler.optional_plugins.coscheduling import Coscheduling
from steersman.simulation import Simulation
from steersman.testing import Harness, PodBuilder, make_node, make_pod

FOLDER = Path(__file__).parents[2] / "examples" / "coscheduling"
LABEL = "scheduling.x-k8s.io/pod-group"


def group(name: str, members: int, **spec: int) -> dict[str, Any]:
    header = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
    return {**header, "metadata": {"name": name}, "spec": {"minMember": members, **spec}}


def members(name: str, count: int, first: int = 0) -> list[PodBuilder]:
    return [make_pod(f"{name}-{n}").label(LABEL, name).req(cpu="1") for n in range(first, first + count)]


def bound(harness: Harness) -> set[str]:
    return {pod.metadata.name for pod in harness.cluster.objects(api.Pod).values() if pod.spec.node_name}


def test_the_group_that_fits_runs_the_other_holds_nothing_and_all_comes_to_rest() -> None:
    files = [FOLDER / "cluster.yaml", FOLDER / "pods.yaml"]
    with Simulation.load(*files, config=FOLDER / "config.yaml") as simulation:
        result = simulation.run()
        pods = simulation.cluster.objects(api.Pod).values()
        assert {pod.metadata.name for pod in pods if pod.spec.node_name} == {"small-0", "small-1", "small-2"}
    assert result.notes == ()


def test_members_wait_for_each_other_and_for_their_group() -> None:
    with Harness(plugins=[Coscheduling], nodes=[make_node("n").capacity(cpu="8")]) as harness:
        harness.add(members("job", 1)[0])
        harness.run()
        assert "PodGroup job not found" in harness.message(make_pod("job-0"))
        harness.add(group("job", 3))
        harness.run()
        assert "PodGroup has 1 pods, needs 3" in harness.message(make_pod("job-0"))
        for pod in members("job", 2, first=1):
            harness.add(pod)
        harness.run()
        assert bound(harness) == {"job-0", "job-1", "job-2"}
        assert harness.place(members("job", 1, first=3)[0]) == "n", "one more of a group that is complete"


def test_a_group_without_room_is_tried_again_when_a_node_comes() -> None:
    with Harness(plugins=[Coscheduling], nodes=[make_node("n1").capacity(cpu="2")]) as harness:
        harness.add(group("job", 4))
        for pod in members("job", 4):
            harness.add(pod)
        harness.run()
        assert bound(harness) == set()
        harness.add(make_node("n2").capacity(cpu="2"))
        harness.run()
        assert len(bound(harness)) == 4


def test_a_smaller_minimum_lets_the_members_go() -> None:
    with Harness(plugins=[Coscheduling], nodes=[make_node("n").capacity(cpu="2")]) as harness:
        harness.add(group("job", 4))
        for pod in members("job", 2):
            harness.add(pod)
        harness.run()
        harness.add(group("job", 2))
        harness.run()
        assert len(bound(harness)) == 2


def test_the_configuration_names_the_bundled_plugin() -> None:
    registry, _ = register([])
    configuration = yaml.safe_load((FOLDER / "config.yaml").read_text())
    [enabled] = configuration["profiles"][0]["plugins"]["multiPoint"]["enabled"]
    assert registry.points_of(enabled["name"]) == {"preFilter", "postFilter", "reserve", "permit"}


def test_a_plugin_of_ones_own_takes_the_name_of_the_bundled_one() -> None:
    class Own(ScorePlugin):
        name = "Coscheduling"

        def score(self, pod: PodInfo, node: NodeInfo) -> int:
            return 0

    registry, names = register([Own])
    assert (names, registry.points_of("Coscheduling")) == (["Coscheduling"], frozenset((ExtensionPoint.SCORE,)))


def test_a_group_that_failed_backs_off() -> None:
    args = {"podGroupBackoffSeconds": 30}
    with Harness(
        plugins=[Coscheduling], args={"Coscheduling": args}, nodes=[make_node("n1").capacity(cpu="2")]
    ) as harness:
        harness.add(group("job", 4))
        for pod in members("job", 4):
            harness.add(pod)
        harness.run()
        harness.add(make_node("n2").capacity(cpu="2"))
        harness.advance(15)
        assert bound(harness) == set()
        assert any("podGroup default/job failed recently" in harness.message(pod) for pod in members("job", 4))


def test_the_role_grants_what_the_plugin_declares() -> None:
    role, _ = yaml.safe_load_all((FOLDER / "rbac.yaml").read_text())
    definition = yaml.safe_load((FOLDER / "crd.yaml").read_text())["spec"]
    [rule] = role["rules"]
    assert rule == {
        "apiGroups": [definition["group"]],
        "resources": [definition["names"]["plural"]],
        "verbs": ["list", "watch"],
    }
    assert f"{definition['group']}/{definition['versions'][0]['name']}" == "scheduling.x-k8s.io/v1alpha1"
