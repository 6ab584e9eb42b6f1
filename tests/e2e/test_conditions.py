# SPDX-License-Identifier: Apache-2.0
"""How the condition of a waiting pod follows its retries: what stays, what changes."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.e2e.cleaning import empty
from tests.e2e.comparing import EACH_VERSION

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


@dataclass(frozen=True)
class Story:
    """The condition PodScheduled, one after the other."""

    refused: JsonObject
    refused_for_another_reason: JsonObject
    refused_after_its_own_change: JsonObject
    placed: JsonObject


@pytest.fixture(scope="module")
def stories(shared_plane: ControlPlane) -> tuple[Story, Story]:
    upstream, ours = (story(shared_plane, scheduler) for scheduler in (KubeScheduler, Steersman))
    return upstream, ours


def story(plane: ControlPlane, scheduler: type[KubeScheduler] | type[Steersman]) -> Story:
    admin = plane.admin
    empty(admin)
    small = make_node("small").capacity(cpu="1", memory="8Gi")
    admin.create_nodes(manifest(small), manifest(small.name("small-tainted").taint("k")))
    admin.create(manifest(make_pod("web").req(cpu="4")))
    with scheduler(plane):
        first = scheduled(admin, "")
        admin.create_nodes(manifest(make_node("large-tainted").capacity(cpu="8", memory="8Gi").taint("l")))
        second = scheduled(admin, first["message"])
        tolerate(admin, "k")
        third = scheduled(admin, "", generation=2)
        tolerate(admin, "l")
        admin.wait_until(lambda: admin.get("Pod", "web")["spec"].get("nodeName"), what="a node")
        last = scheduled(admin, third["message"])
    empty(admin)
    return Story(first, second, third, last)


def scheduled(admin: KubeClient, earlier_message: str, generation: int = 1) -> JsonObject:
    """The condition once its message is another one and it is about this generation of the pod, or the pod has a node."""

    def found() -> JsonObject | None:
        seen = condition(admin.get("Pod", "web"), "PodScheduled")
        if seen is None or seen["status"] == "True":
            return seen
        is_new = seen["message"] != earlier_message and seen.get("observedGeneration", 0) >= generation
        return seen if is_new else None

    seen = admin.wait_until(found, what=f"a message other than {earlier_message!r} about generation {generation}")
    assert seen is not None
    return seen


def tolerate(admin: KubeClient, key: str) -> None:
    tolerations = admin.get("Pod", "web")["spec"]["tolerations"]
    admin.patch("Pod", "web", {"spec": {"tolerations": [*tolerations, {"key": key, "operator": "Exists"}]}})


def without_times(seen: JsonObject) -> JsonObject:
    return {field: value for field, value in seen.items() if field != "lastTransitionTime"}


@pytest.mark.parametrize("chapter", ["refused", "refused_for_another_reason", "refused_after_its_own_change", "placed"])
def test_the_condition_is_that_of_kube_scheduler(stories: tuple[Story, Story], chapter: str) -> None:
    upstream, ours = stories
    assert without_times(getattr(ours, chapter)) == without_times(getattr(upstream, chapter))


@pytest.mark.parametrize("teller", [0, 1], ids=["kube-scheduler", "steersman"])
def test_the_time_of_the_transition_stays_while_the_pod_waits(stories: tuple[Story, Story], teller: int) -> None:
    story = stories[teller]
    assert story.refused_for_another_reason["message"] != story.refused["message"]
    assert story.refused_for_another_reason["lastTransitionTime"] == story.refused["lastTransitionTime"]


def test_the_condition_says_which_generation_of_the_pod_it_is_about(stories: tuple[Story, Story]) -> None:
    _, ours = stories
    assert (ours.refused["observedGeneration"], ours.refused_after_its_own_change["observedGeneration"]) == (1, 2)
