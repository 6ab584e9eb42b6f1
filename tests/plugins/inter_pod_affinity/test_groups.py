# SPDX-License-Identifier: Apache-2.0
"""Replicas with affinity terms are placed by groups of rows, where the columns would put them."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, strategies as st

from steersman import Simulation, api
from steersman.scheduler.engine import row_totals
from steersman.scheduler.engine.signature import Signature
from steersman.scheduler.plugins.inter_pod_affinity import filtering, scoring
from steersman.testing import PodBuilder, make_node, make_pod

ZONE, HOST, RACK = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "example.com/rack"
_replace = msgspec.structs.replace
NODES = 12


@pytest.fixture(autouse=True)
def _groups_for_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    _use_groups(monkeypatch)


def _use_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_totals, "MIN_SCORED_ROWS", 0)
    for module in (filtering, scoring):
        monkeypatch.setattr(module, "MIN_ROWS", 0)
    monkeypatch.setattr(filtering, "MIN_ROWS_OF_REJECTIONS", 0)


def node(index: int) -> api.Node:
    """Of three zones and four racks, and not all alike; one has no zone."""
    made = make_node(f"n{index}").capacity(cpu=str(8 + index % 3), memory="32Gi", pods=20).label(HOST, f"n{index}")
    made = made.label(RACK, f"r{index % 4}")
    return made.obj() if index == 11 else made.label(ZONE, "abc"[index % 3]).obj()


def template(name: str) -> PodBuilder:
    plain, own = make_pod(name).label("app", name).req(cpu="500m", memory="1Gi"), {"app": name}
    match name:
        case "near-in-zone":
            return plain.pod_affinity(ZONE, own)
        case "near-on-host":
            return plain.pod_affinity(HOST, own)
        case "apart-on-host":
            return plain.anti_affinity(HOST, own)
        case "apart-in-zone":
            return plain.anti_affinity(ZONE, own)
        case "near-and-apart":
            return plain.pod_affinity(ZONE, own).anti_affinity(HOST, own)
        case "prefers":
            return plain.pod_affinity(ZONE, own, weight=50).anti_affinity(HOST, own, weight=100)
        case "prefers-rack":
            return plain.anti_affinity(RACK, own, weight=7).pod_affinity(HOST, own, weight=3)
        case "avoids-all":
            return plain.anti_affinity(RACK, {"app": "prefers"}).anti_affinity(ZONE, own, weight=5)
        case _:
            return plain


NAMES = (
    "near-in-zone",
    "near-on-host",
    "apart-on-host",
    "apart-in-zone",
    "near-and-apart",
    "prefers",
    "prefers-rack",
    "avoids-all",
    "plain",
)


class Cluster:
    def __init__(self) -> None:
        self.scheduler = Simulation.load([node(index) for index in range(NODES)]).scheduler
        self.placed: list[api.Pod] = []
        self.by_groups = 0

    def place(self, name: str) -> None:
        """Compare the best rows of a replica by groups and by columns, and place it if it fits."""
        made = template(name).obj()
        own = f"{name}-{len(self.placed)}-{self.by_groups}"
        made = _replace(made, metadata=_replace(made.metadata, name=own, namespace="default", uid=f"uid-{own}"))
        pod = self.scheduler.cache.shapes.info(made)
        signature = self.scheduler.cycle._engines[pod.scheduler_name].signatures.get(pod).signature
        assert isinstance(signature, Signature)
        (best, count), (expected, expected_count) = signature.best_rows_by_group(), signature.best_of_all()
        assert count == expected_count, own
        assert not count or list(best) == list(map(int, expected)), own
        self.by_groups += signature.row_totals.grouped is not None and signature.row_totals.grouped._rows is not None
        if count:
            row = int(expected[0])
            made = _replace(made, spec=_replace(made.spec, node_name=self.scheduler.cache.nodes.names[row]))
            self.scheduler.ingest.changed(made)
            self.placed.append(made)

    def delete(self, index: int) -> None:
        if self.placed:
            self.scheduler.ingest.deleted(self.placed.pop(index % len(self.placed)))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("plain", "avoids-all")])
def test_groups_say_what_columns_say(name: str) -> None:
    cluster = Cluster()
    for _ in range(40):
        cluster.place(name)
    assert cluster.by_groups > 30, "groups are hardly used"


def test_a_pod_with_a_term_of_another_topology_changes_the_groups() -> None:
    cluster = Cluster()
    for _ in range(4):
        cluster.place("prefers")
    for _ in range(6):
        cluster.place("avoids-all")
        cluster.place("prefers")
        cluster.place("prefers")
    assert cluster.by_groups > 10


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.integers(1, 4), st.none() | st.integers(0, 50)), max_size=14),
)
def test_groups_say_what_columns_say_in_any_history(history: list[tuple[str, int, int | None]]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        _use_groups(monkeypatch)
        cluster = Cluster()
        for name, times, deleted in history:
            for _ in range(times):
                cluster.place(name)
            if deleted is not None:
                cluster.delete(deleted)
