# SPDX-License-Identifier: Apache-2.0
"""What is measured, and when."""

from __future__ import annotations

import pytest
from tests.testing.bench.clusters import Stage, play

from steersman.base.errors import InputError
from steersman.kube.client.events import Event
from steersman.testing.bench.operations import CreatePods, StartCollectingMetrics, StopCollectingMetrics

pytestmark = pytest.mark.usefixtures("frozen_past")

START = StartCollectingMetrics(opcode="startCollectingMetrics", name="some", namespaces=("a",))
STOP = StopCollectingMetrics(opcode="stopCollectingMetrics")


def pods(count: int, namespace: str, *, collect: bool = False) -> CreatePods:
    return CreatePods(opcode="createPods", count=count, namespace=namespace, collect_metrics=collect)


def test_only_the_pods_of_the_operation_are_counted() -> None:
    async def act(stage: Stage) -> None:
        await stage.do(pods(5, "a"), pods(7, "b", collect=True))
        (measurement,) = stage.run.measurements
        assert (measurement.name, measurement.throughput.pods) == ("b", 7)
        assert measurement.throughput.seconds > 0
        assert measurement.cpu_ms_per_pod > 0
        assert measurement.memory.peak >= measurement.memory.steady > 0

    play(act)


def test_attempts_and_extension_points_are_timed() -> None:
    async def act(stage: Stage) -> None:
        await stage.do(pods(7, "a", collect=True))
        (measurement,) = stage.run.measurements
        seen = {(tuple(latency.labels.values())): latency.observations for latency in measurement.latencies}
        assert seen[("scheduled",)] == seen[("Filter",)] == seen[("Score",)] == 7

    play(act)


def test_a_collection_lasts_until_it_is_stopped_and_counts_its_namespaces() -> None:
    async def act(stage: Stage) -> None:
        await stage.do(START, pods(3, "a"), pods(4, "b"), pods(2, "a"), STOP, pods(9, "a"))
        (measurement,) = stage.run.measurements
        assert (measurement.name, measurement.throughput.pods) == ("some", 5)

    play(act)


def test_collections_must_not_overlap() -> None:
    async def act(stage: Stage) -> None:
        await stage.do(START)
        with pytest.raises(InputError, match="collected already"):
            await stage.do(pods(1, "a", collect=True))

    play(act)


def test_a_collection_that_was_not_started_cannot_be_stopped() -> None:
    async def act(stage: Stage) -> None:
        with pytest.raises(InputError, match="startCollectingMetrics comes first"):
            await stage.do(STOP)

    play(act)


def test_every_binding_is_an_event_in_the_store() -> None:
    async def act(stage: Stage) -> None:
        await stage.do(pods(4, "a"))
        events = stage.store.objects(Event).values()
        assert {event.reason for event in events} == {"Scheduled"}
        assert {event.regarding.name for event in events} == {pod.metadata.name for pod in stage.pods("a")}

    play(act)
