# SPDX-License-Identifier: Apache-2.0
"""Node pools: what their documents may say, and which nodes they make."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from steersman.base.errors import InputError
from steersman.simulation import Simulation
from steersman.simulation.node_pools import NodePools, load_pools, pool_of, price_of
from steersman.testing import make_pod

ZONE = "topology.kubernetes.io/zone"
DOCUMENT: dict[str, Any] = {
    "apiVersion": "steersman.dev/v1alpha1",
    "kind": "NodePools",
    "pools": [
        {
            "name": "general",
            "pricePerHour": 0.4,
            "max": 100,
            "zones": ["a", "b"],
            "template": {
                "metadata": {"labels": {"tier": "plain"}, "annotations": {"note": "x"}},
                "spec": {"taints": [{"key": "t", "value": "v", "effect": "NoSchedule"}]},
                "status": {"allocatable": {"cpu": "8", "memory": "32Gi"}},
            },
        },
        {"name": "spot", "pricePerHour": 1, "spot": True, "template": {"status": {"capacity": {"cpu": 4}}}},
    ],
    "limits": {"spotShare": 0.5},
}


def changed(*path: str | int, value: Any) -> dict[str, Any]:
    document = copy.deepcopy(DOCUMENT)
    part: Any = document
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return document


def complaint(document: Any) -> str:
    with pytest.raises(InputError) as raised:
        load_pools(document)
    return str(raised.value)


def test_a_document_says_everything_about_its_pools() -> None:
    pools = load_pools(DOCUMENT)
    general = pools["general"]
    assert [pool.name for pool in pools] == ["general", "spot"]
    assert (general.price_per_hour, general.min, general.max, general.zones) == (0.4, 0, 100, ("a", "b"))
    assert (general.boot_seconds, general.scale_down_delay_seconds, general.spot) == (60, 600, False)
    assert pools.limits.spot_share == 0.5
    assert "spot" in pools
    assert "other" not in pools
    assert load_pools(pools) is pools


def test_a_pool_makes_nodes_that_say_their_pool_and_their_price() -> None:
    node = load_pools(DOCUMENT)["general"].make_node(3)
    assert (node.metadata.name, pool_of(node), price_of(node)) == ("general-3", "general", 0.4)
    labels = node.metadata.labels
    assert (labels["tier"], labels[ZONE], labels["kubernetes.io/hostname"]) == ("plain", "b", "general-3")
    assert labels["kubernetes.io/os"] == "linux"
    assert node.metadata.annotations["note"] == "x"
    assert node.spec.taints[0].key == "t"
    assert node.status.allocatable == {"cpu": "8", "memory": "32Gi", "pods": "110"}


def test_a_zone_that_is_requested_comes_before_the_turn() -> None:
    pool = load_pools(DOCUMENT)["general"]
    assert pool.make_node(0).metadata.labels[ZONE] == "a"
    assert pool.make_node(0, zone="b").metadata.labels[ZONE] == "b"


def test_names_that_are_taken_are_passed_over_and_zones_go_on_by_turns() -> None:
    pool = load_pools(DOCUMENT)["general"]
    made = list(pool.make_nodes(3, taken={"general-1", "general-2"}))
    assert [node.metadata.name for node in made] == ["general-0", "general-3", "general-4"]
    assert [node.metadata.labels[ZONE] for node in made] == ["a", "b", "a"]
    assert [node.metadata.labels[ZONE] for node in pool.make_nodes(2, first=1)] == ["b", "a"]


def test_the_nodes_of_a_pool_hold_pods_in_a_simulation() -> None:
    pool = load_pools(DOCUMENT)["spot"]
    result = Simulation.load(pool.make_node(0)).add(make_pod("web").req(cpu="3").obj()).run()
    assert result.placements["default/web"].node == "spot-0"


def test_pools_are_read_from_a_file_and_errors_name_it(tmp_path: Path) -> None:
    file = tmp_path / "pools.yaml"
    pool = "{name: one, pricePerHour: 1, template: {status: {allocatable: {cpu: 1}}}}"
    file.write_text(f"apiVersion: steersman.dev/v1alpha1\nkind: NodePools\npools: [{pool}]\n")
    assert isinstance(load_pools(file), NodePools)
    file.write_text("kind: Pools\n")
    assert complaint(file).startswith(f"{file}: is no NodePools (got")
    assert (
        complaint(tmp_path / "missing.yaml")
        == f"{tmp_path / 'missing.yaml'}: cannot be read: No such file or directory"
    )


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (changed("pools", value=[]), "NodePools: pools: has no pool; write at least one"),
        (changed("pools", 1, "name", value="general"), 'pools[1].name: is the name of two pools (got "general")'),
        (
            changed("pools", 0, "name", value="A b"),
            'pools[0].name: is not a valid name for a pool (got "A b"); use up to 50',
        ),
        (changed("pools", 0, "pricePerHour", value=-1), "pools[0].pricePerHour: must be a number from 0 (got -1.0)"),
        (
            changed("pools", 0, "pricePerHour", value="x"),
            'pools[0].pricePerHour: must be a number (got "x")',
        ),
        (changed("pools", 0, "min", value=-1), "pools[0].min: must not be negative (got -1)"),
        (changed("pools", 0, "min", value=101), "pools[0].max: is less than min, which is 101 (got 100)"),
        (changed("pools", 0, "zones", value=["a", "a"]), 'pools[0].zones[1]: is there twice (got "a")'),
        (changed("pools", 0, "zones", value=["a b"]), 'pools[0].zones[0]: is not a label value (got "a b")'),
        (changed("pools", 0, "maximum", value=1), "maximum"),
        (
            changed("pools", 0, "template", "metadata", "name", value="n"),
            "pools[0].template.metadata.name: must not have",
        ),
        (
            changed("pools", 0, "template", "metadata", "labels", value={ZONE: "a"}),
            f"pools[0].template.metadata.labels[{ZONE}]: is said twice, here and by zones",
        ),
        (
            changed("pools", 0, "template", "metadata", "labels", value={"a b": "a"}),
            "pools[0].template.metadata.labels[a b]: name part must consist of",
        ),
        (
            changed("pools", 0, "template", "status", value={"allocateable": {"cpu": 1}}),
            "pools[0].template.status.allocateable: is not a field of a Node",
        ),
        (changed("pools", 0, "template", "status", value={}), "pools[0].template.status.allocatable: is empty"),
        (
            changed("pools", 0, "template", "status", value={"allocatable": {"cpu": "-8"}}),
            "pools[0].template.status.allocatable.cpu: must be greater than or equal to 0",
        ),
        (
            changed("limits", "spotShare", value=1.5),
            "limits.spotShare: is not a share (got 1.5); write a number from 0 to 1",
        ),
        ({**DOCUMENT, "kind": "Pool"}, "is no NodePools"),
        ([], "is neither"),
    ],
)
def test_what_cannot_be_used_is_named(document: Any, expected: str) -> None:
    assert expected in complaint(document)
