# SPDX-License-Identifier: Apache-2.0
"""Operations on devices: a driver publishes them, pods and operations have claims allocated."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.testing.bench.clusters import Stage, play
from tests.testing.bench.workload_texts import CREATE_NODES, outcome_of, pod, test_case, write

from steersman import api
from steersman.testing.bench import WorkloadVerdict
from steersman.testing.bench.operations import (
    OPERATIONS,
    AllocResourceClaims,
    CreateAny,
    CreateResourceClaims,
    CreateResourceDriver,
    Operation,
)
from steersman.testing.bench.preparation import NO_DEVICES, obstacle
from steersman.testing.bench.templates import Templates

pytestmark = pytest.mark.usefixtures("frozen_past")

CLASS = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: test-class}\n"
REQUEST = "{devices: {requests: [{name: r, exactly: {deviceClassName: test-class}}]}}"
CLAIM = f"apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {{generateName: c-}}\nspec: {REQUEST}\n"
TEMPLATE = (
    f"apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {{name: t}}\nspec: {{spec: {REQUEST}}}\n"
)
DRIVER = {"opcode": "createResourceDriver", "driverName": "d", "nodes": "node-0-*", "maxClaimsPerNodeParam": "$most"}


def file(folder: Path, text: str) -> str:
    made = folder / "template.yaml"
    made.write_text(text)
    return str(made)


def driver(nodes: str = "node-*") -> CreateResourceDriver:
    return CreateResourceDriver(opcode="createResourceDriver", driver_name="d", nodes=nodes, max_claims_per_node=2)


def test_a_driver_publishes_devices_on_the_nodes_of_its_pattern() -> None:
    async def act(stage: Stage) -> None:
        await stage.do(driver("node-*1"))
        (published,) = stage.store.objects(api.ResourceSlice).values()
        assert published.spec.node_name == published.metadata.name == "node-0-00001"
        assert [device.name for device in published.spec.devices] == ["instance-0", "instance-1"]

    play(act)


def test_claims_get_devices_without_a_pod(tmp_path: Path) -> None:
    def create(folder: str, text: str) -> str:
        (tmp_path / folder).mkdir()
        return file(tmp_path / folder, text)

    async def act(stage: Stage) -> None:
        await stage.do(
            driver(),
            CreateAny(opcode="createAny", template_path=create("class", CLASS)),
            CreateResourceClaims(
                opcode="createResourceClaims", namespace="init", count=4, template_path=create("claim", CLAIM)
            ),
            AllocResourceClaims(opcode="allocResourceClaims", namespace="init"),
        )
        claims = stage.store.objects(api.ResourceClaim).values()
        found = [claim.status.allocation for claim in claims]
        devices = {(r.pool, r.device) for a in found if a is not None for r in a.devices.results}
        assert len(found) == len(devices) == 4

    play(act, nodes=2)


def test_pods_with_claims_from_templates_are_measured(tmp_path: Path) -> None:
    create_class = {"opcode": "createAny", "templatePath": "class.yaml"}
    create_template = {"opcode": "createAny", "templatePath": "claims.yaml", "namespace": "namespace-4"}
    pods = {"opcode": "createPods", "count": 4, "podTemplatePath": "pod.yaml", "collectMetrics": True}
    workloads = [{"name": "small", "params": {"most": 2}}]
    case = test_case({**CREATE_NODES, "count": 2}, DRIVER, create_class, create_template, pods, workloads=workloads)
    using = pod("resourceClaims: [{name: gpu, resourceClaimTemplateName: t}]")
    outcome = outcome_of(write(tmp_path, case, **{"class": CLASS, "claims": TEMPLATE, "pod": using}))
    assert outcome.verdict is WorkloadVerdict.MEASURED
    assert outcome.measurements[0].throughput.pods == 4


@pytest.mark.parametrize("operation", [driver(), AllocResourceClaims(opcode="allocResourceClaims")])
def test_devices_need_the_embedded_cluster(operation: Operation) -> None:
    assert obstacle([(3, operation)], None, Templates(), has_devices=True) == ""
    why = obstacle([(3, operation)], None, Templates(), has_devices=False)
    assert why == f"{operation.opcode} (operation 3): {NO_DEVICES}"


@pytest.mark.parametrize("text", [CLAIM, pod("resourceClaims: [{name: gpu}]")])
def test_so_do_templates_that_speak_of_devices(tmp_path: Path, text: str) -> None:
    operation = CreateAny(opcode="createAny", template_path=file(tmp_path, text))
    assert obstacle([(0, operation)], None, Templates(), has_devices=True) == ""
    assert obstacle([(0, operation)], None, Templates(), has_devices=False).endswith(NO_DEVICES)


def test_all_operations_of_upstream_are_known() -> None:
    assert {"createResourceDriver", "createResourceClaims", "allocResourceClaims"} <= OPERATIONS.keys()
