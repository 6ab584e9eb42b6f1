# SPDX-License-Identifier: Apache-2.0
"""Nodes that `createNodes` makes."""

from __future__ import annotations

from pathlib import Path

from steersman import api
from steersman.testing.bench.created_objects import MIGRATED_PLUGINS, node_drafts
from steersman.testing.bench.operations import CreateNodes, LabelNodes, NodeAllocatable, NodeResources, UniqueLabel
from steersman.testing.bench.templates import Templates

TEMPLATE = """
apiVersion: v1
kind: Node
metadata: {generateName: worker-, labels: {rack: "r{{ .Index }}"}}
status: {capacity: {cpu: "8"}}
"""


def made(operation: CreateNodes) -> list[api.Object]:
    return [draft.object for group in node_drafts(operation, "node-0-", Templates()) for draft in group]


def made_nodes(operation: CreateNodes) -> list[api.Node]:
    return [obj for obj in made(operation) if isinstance(obj, api.Node)]


def test_usual_nodes_have_four_cores_and_their_name_as_a_label() -> None:
    first, second = made_nodes(CreateNodes(opcode="createNodes", count=2))
    assert first.metadata.name == first.metadata.labels[api.HOSTNAME_LABEL] != second.metadata.name
    assert first.metadata.name.startswith("node-0-")
    assert first.status.allocatable == {"pods": "110", "cpu": "4", "memory": "32Gi"}


def test_nodes_of_a_template_are_named_after_it(tmp_path: Path) -> None:
    file = tmp_path / "node.yaml"
    file.write_text(TEMPLATE)
    _, second = made_nodes(CreateNodes(opcode="createNodes", count=2, node_template_path=str(file)))
    assert second.metadata.name.startswith("worker-")
    assert second.metadata.labels == {"rack": "r1", api.HOSTNAME_LABEL: second.metadata.name}


def test_values_of_labels_go_round() -> None:
    strategy = LabelNodes("zone", ("a", "b"))
    found = made_nodes(CreateNodes(opcode="createNodes", count=3, label_node_prepare_strategy=strategy))
    assert [node.metadata.labels["zone"] for node in found] == ["a", "b", "a"]


def test_a_unique_label_is_different_on_every_node() -> None:
    strategy = UniqueLabel("id")
    found = made_nodes(CreateNodes(opcode="createNodes", count=3, unique_node_label_strategy=strategy))
    assert len({node.metadata.labels["id"] for node in found}) == 3


def test_allocatable_amounts_are_added_and_drivers_announced(tmp_path: Path) -> None:
    file = tmp_path / "node.yaml"
    file.write_text(TEMPLATE)
    strategy = NodeAllocatable({"attachable": "39"}, {"csi.example": NodeResources(39)}, ("in-tree",))
    node, csi_node = made(
        CreateNodes(opcode="createNodes", count=1, node_template_path=str(file), node_allocatable_strategy=strategy)
    )
    assert isinstance(node, api.Node)
    assert isinstance(csi_node, api.CSINode)
    assert node.status.allocatable == {"cpu": "8", "attachable": "39"}
    assert csi_node.metadata.name == node.metadata.name
    assert csi_node.metadata.annotations == {MIGRATED_PLUGINS: "in-tree"}
    (driver,) = csi_node.spec.drivers
    assert driver.name == "csi.example"
    assert driver.allocatable == api.VolumeNodeResources(count=39)
