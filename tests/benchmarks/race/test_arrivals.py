# SPDX-License-Identifier: Apache-2.0
"""Pods that come while a scheduler runs: who comes when, and how their waiting is counted."""

from __future__ import annotations

import pytest
from benchmarks.race.arrivals import ARRIVALS, Arrivals, quantile
from benchmarks.race.workloads import JsonObject, pod_manifest, service


def arrivals(together: int, groups: int) -> Arrivals:
    return Arrivals("test", lambda index: pod_manifest(f"pod-{index}"), together, every=0.0, groups=groups)


def test_every_pod_of_every_group_is_created_once() -> None:
    created: list[JsonObject] = []
    arrivals(together=3, groups=4).send(created.append)
    assert sorted(pod["metadata"]["name"] for pod in created) == sorted(f"pod-{index}" for index in range(12))


def test_a_pod_that_cannot_be_created_ends_the_measurement() -> None:
    def refuse(pod: JsonObject) -> None:
        raise OSError("the server is gone")

    with pytest.raises(OSError, match="the server is gone"):
        arrivals(together=1, groups=2).send(refuse)


def test_groups_come_at_their_times_and_late_ones_at_once() -> None:
    coming = Arrivals("test", lambda index: pod_manifest(f"pod-{index}"), 1, every=2.0, groups=4)
    clock, pauses = iter([10.0, 10.0, 11.5, 19.0, 19.0]), list[float]()
    coming.send(lambda pod: None, clock=lambda: next(clock), sleep=pauses.append)
    assert pauses == [0.0, 0.5, 0.0, 0.0]


def test_a_group_waits_from_its_last_pod_to_its_last_binding() -> None:
    appeared = {"pod-0": 1.0, "pod-1": 1.5, "pod-2": 2.0, "pod-3": 2.25}
    bound = {"pod-0": 1.25, "pod-1": 1.75, "pod-2": 3.25, "pod-3": 2.5}
    assert arrivals(together=2, groups=2).waits(appeared, bound) == [0.25, 1.0]


def test_a_group_of_one_waits_as_long_as_its_pod() -> None:
    assert arrivals(together=1, groups=2).waits({"pod-0": 1.0, "pod-1": 2.0}, {"pod-0": 1.5, "pod-1": 2.125}) == [
        0.5,
        0.125,
    ]


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.0, 1)])
def test_a_quantile_is_a_value_that_was_measured(share: float, value: int) -> None:
    assert quantile([float(number) for number in range(100, 0, -1)], share) == value


def test_the_race_has_a_burst_and_two_steady_rates() -> None:
    assert [(each.together, round(each.together / each.every)) for each in ARRIVALS.values()] == [
        (15, 30),
        (1, 50),
        (1, 150),
    ]


def test_the_pods_of_a_burst_are_behind_the_service() -> None:
    [burst] = [each for each in ARRIVALS.values() if each.together > 1]
    selector = service("race")["spec"]["selector"].items()
    assert all(selector <= pod["metadata"]["labels"].items() for pod in burst.group(0))


def test_no_two_pods_of_the_arrivals_have_one_name() -> None:
    for each in ARRIVALS.values():
        names = [pod["metadata"]["name"] for number in range(each.groups) for pod in each.group(number)]
        assert len(set(names)) == each.pods
