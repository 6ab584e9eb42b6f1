# SPDX-License-Identifier: Apache-2.0
"""Operations that create, delete and wait for pods."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.testing.bench.clusters import Stage, play
from tests.testing.bench.workload_texts import pod

from steersman.base.errors import InputError
from steersman.testing.bench.operations import Barrier, CreateNamespaces, CreatePods, DeletePods

GATED = pod("schedulingGates: [{name: hold}]", "generateName: gated-\n  labels: {kind: gated}")
LABELLED = pod("terminationGracePeriodSeconds: 0", "generateName: pod-\n  labels: {kind: plain}")


def gated(folder: Path, count: int, namespace: str = "waiting") -> CreatePods:
    file = folder / "gated.yaml"
    file.write_text(GATED)
    return CreatePods(
        opcode="createPods",
        count=count,
        namespace=namespace,
        pod_template_path=str(file),
        skip_wait_to_completion=True,
    )


def test_pods_are_scheduled_when_the_operation_ends() -> None:
    async def act(stage: Stage) -> None:
        await stage.do(CreatePods(opcode="createPods", count=65))
        assert len(stage.pods("namespace-1")) == 65
        assert all(pod.spec.node_name for pod in stage.pods())

    play(act)


def test_namespaces_are_created_with_the_labels_of_their_template(tmp_path: Path) -> None:
    file = tmp_path / "ns.yaml"
    file.write_text("apiVersion: v1\nkind: Namespace\nmetadata: {labels: {team: devops}}\n")

    async def act(stage: Stage) -> None:
        operation = CreateNamespaces(opcode="createNamespaces", prefix="n", count=2, namespace_template_path=str(file))
        await stage.do(operation)
        labels = stage.host.scheduler.cache.namespace_labels
        assert [labels(name).get("team") for name in ("n-0", "n-1", "n-2")] == ["devops", "devops", None]

    play(act)


def test_a_barrier_waits_for_pods_to_be_tried(tmp_path: Path) -> None:
    async def act(stage: Stage) -> None:
        await stage.do(gated(tmp_path, 3), Barrier(opcode="barrier", stage_requirement="Attempted"))
        assert not any(pod.spec.node_name for pod in stage.pods())

    play(act)


def test_a_barrier_waits_for_pods_that_were_not_waited_for() -> None:
    async def act(stage: Stage) -> None:
        pods = CreatePods(opcode="createPods", count=40, namespace="a", skip_wait_to_completion=True)
        await stage.do(pods, Barrier(opcode="barrier"))
        assert all(pod.spec.node_name for pod in stage.pods("a"))

    play(act)


def test_a_barrier_on_a_namespace_without_pods_is_refused() -> None:
    async def act(stage: Stage) -> None:
        with pytest.raises(InputError, match=r"namespaces: has no pods to wait for"):
            await stage.do(Barrier(opcode="barrier", namespaces=("ghost",)))

    play(act)


def test_pods_are_deleted_by_namespace_and_label(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(LABELLED)

    async def act(stage: Stage) -> None:
        labelled = CreatePods(opcode="createPods", count=2, namespace="a", pod_template_path=str(file))
        await stage.do(labelled, CreatePods(opcode="createPods", count=2, namespace="b"))
        await stage.do(CreatePods(opcode="createPods", count=1, namespace="a"))
        await stage.do(DeletePods(opcode="deletePods", namespace="a", label_selector={"kind": "plain"}))
        assert (len(stage.pods("a")), len(stage.pods("b"))) == (1, 2)

    play(act)


def test_slow_deletions_go_on_in_the_background(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(LABELLED)

    async def act(stage: Stage) -> None:
        await stage.do(CreatePods(opcode="createPods", count=3, namespace="a", pod_template_path=str(file)))
        await stage.do(
            DeletePods(opcode="deletePods", namespace="a", delete_pods_per_second=100, skip_wait_to_completion=True)
        )
        assert len(stage.pods("a")) == 3
        await stage.until(lambda: not stage.pods("a"))

    play(act)


def test_pods_in_a_steady_state_are_scheduled_again_and_again() -> None:
    async def act(stage: Stage) -> None:
        steady = CreatePods(
            opcode="createPods", count=5, namespace="a", steady_state=True, duration="300ms", collect_metrics=True
        )
        await stage.do(steady)
        (measurement,) = stage.run.measurements
        assert measurement.throughput.pods > 5
        assert len(stage.pods("a")) <= 5

    play(act)
