# SPDX-License-Identifier: Apache-2.0
"""Churn, and operations that create or update objects of any kind."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.testing.bench.clusters import Stage, play
from tests.testing.bench.workload_texts import pod

from steersman import api
from steersman.base.errors import InputError
from steersman.testing.bench.operations import Barrier, Churn, CreateAny, CreatePods, UpdateAny

SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: s-{{ .Index }}}\nspec: {selector: {app: web}}\n"
NODE = "apiVersion: v1\nkind: Node\nmetadata: {generateName: churned-}\nstatus: {capacity: {pods: '0'}}\n"


def file_of(folder: Path, text: str, name: str = "template") -> str:
    file = folder / f"{name}.yaml"
    file.write_text(text)
    return str(file)


def test_any_object_is_created_in_its_namespace(tmp_path: Path) -> None:
    async def act(stage: Stage) -> None:
        create = CreateAny(opcode="createAny", namespace="shop", template_path=file_of(tmp_path, SERVICE), count=2)
        await stage.do(create)
        assert list(stage.store.objects(api.Service)) == ["shop/s-0", "shop/s-1"]
        assert "shop" in stage.store.objects(api.Namespace)

    play(act)


@pytest.mark.parametrize(
    ("text", "namespace", "complaint"),
    [(SERVICE, "", "Service needs a namespace"), (NODE, "shop", "Node belongs to no namespace")],
)
def test_a_namespace_must_fit_the_kind(tmp_path: Path, text: str, namespace: str, complaint: str) -> None:
    async def act(stage: Stage) -> None:
        with pytest.raises(InputError, match=complaint):
            await stage.do(CreateAny(opcode="createAny", namespace=namespace, template_path=file_of(tmp_path, text)))

    play(act)


def test_an_update_of_pending_pods_lets_them_be_scheduled(tmp_path: Path) -> None:
    held = file_of(tmp_path, pod("schedulingGates: [{name: hold}]", "name: p-{{ .Index }}"), "held")
    free = file_of(tmp_path, pod("", "name: p-{{ .Index }}"), "free")

    async def act(stage: Stage) -> None:
        pods = CreatePods(
            opcode="createPods", count=4, namespace="a", pod_template_path=held, skip_wait_to_completion=True
        )
        update = UpdateAny(opcode="updateAny", count=4, namespace="a", template_path=free, update_per_second=1000)
        await stage.do(pods, Barrier(opcode="barrier", stage_requirement="Attempted"), update)
        await stage.do(Barrier(opcode="barrier"))
        assert all(pod.spec.node_name for pod in stage.pods("a"))

    play(act)


def test_an_update_of_a_scheduled_pod_leaves_it_where_it_is(tmp_path: Path) -> None:
    plain = file_of(tmp_path, pod("", "name: p"), "plain")
    labelled = file_of(tmp_path, pod("", "name: p\n  labels: {colour: green}"), "labelled")

    async def act(stage: Stage) -> None:
        await stage.do(CreatePods(opcode="createPods", count=1, namespace="a", pod_template_path=plain))
        (before,) = stage.pods("a")
        await stage.do(UpdateAny(opcode="updateAny", namespace="a", template_path=labelled))
        (after,) = stage.pods("a")
        assert after.metadata.labels == {"colour": "green"}
        assert after.spec.node_name == before.spec.node_name

    play(act)


def test_an_update_of_a_node_changes_what_it_offers(tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {capacity: {cpu: '%s', pods: '9'}}\n"
    small, large = file_of(tmp_path, text % 1, "small"), file_of(tmp_path, text % 9, "large")

    async def act(stage: Stage) -> None:
        await stage.do(CreateAny(opcode="createAny", template_path=small))
        await stage.do(UpdateAny(opcode="updateAny", template_path=large))
        table = stage.host.scheduler.cache.nodes
        row = table.row_of("n")
        assert row is not None
        assert table.info(row).allocatable("cpu") == 9000

    play(act)


def test_churn_creates_the_given_number_of_objects(tmp_path: Path) -> None:
    async def act(stage: Stage) -> None:
        churn = Churn(
            opcode="churn",
            mode="create",
            number=3,
            interval_milliseconds=5,
            template_paths=(file_of(tmp_path, pod()),),
            namespace="busy",
        )
        await stage.do(churn)
        await stage.until(lambda: len(stage.pods("busy")) == 3)

    play(act)


def test_churn_deletes_what_it_created_and_creates_it_again(tmp_path: Path) -> None:
    async def act(stage: Stage) -> None:
        table = stage.host.scheduler.cache.nodes
        nodes = table.node_count
        churn = Churn(
            opcode="churn",
            mode="recreate",
            number=1,
            interval_milliseconds=5,
            template_paths=(file_of(tmp_path, NODE),),
        )
        await stage.do(churn)
        for number in (nodes + 1, nodes, nodes + 1):
            await stage.until(lambda number=number: table.node_count == number)  # type: ignore[misc]

    play(act)
