# SPDX-License-Identifier: Apache-2.0
"""Replicas with spread constraints are placed by groups of rows, where the columns would put them."""

from __future__ import annotations

import msgspec
import pytest

from steersman import Simulation, api
from steersman.scheduler.engine import row_totals
from steersman.scheduler.engine.signature import Signature
from steersman.testing import make_node, make_pod, make_service

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
_replace = msgspec.structs.replace
SERVICE = make_service("behind").selector({"app": "behind"}).obj()


def node(index: int) -> api.Node:
    """Of three zones, and not all alike; one has no zone."""
    made = make_node(f"n{index}").capacity(cpu=str(8 + index % 3), memory="32Gi", pods=20).label(HOST, f"n{index}")
    return made.obj() if index == 11 else made.label(ZONE, "abc"[index % 3]).obj()


def template(name: str) -> api.Pod:
    plain = make_pod(name).label("app", name).req(cpu="500m", memory="1Gi")
    selector = {"app": name}
    if name == "soft-zone":
        return plain.spread(ZONE, when="ScheduleAnyway", selector=selector).obj()
    if name == "soft-both":
        soft = plain.spread(ZONE, when="ScheduleAnyway", selector=selector, max_skew=2)
        return soft.spread(HOST, when="ScheduleAnyway", selector=selector).obj()
    if name == "hard-zone":
        return plain.spread(ZONE, selector=selector).obj()
    if name == "hard-host":
        return plain.spread(HOST, selector=selector).obj()
    if name == "hard-and-soft":
        return (
            plain.spread(HOST, selector=selector, max_skew=2)
            .spread(ZONE, when="ScheduleAnyway", selector=selector)
            .obj()
        )
    return plain.obj()


def replica(pod: api.Pod, index: int) -> api.Pod:
    name = f"{pod.metadata.name}-{index}"
    return _replace(pod, metadata=_replace(pod.metadata, name=name, namespace="default", uid=f"uid-{name}"))


@pytest.mark.parametrize("name", ["soft-zone", "soft-both", "hard-zone", "hard-host", "hard-and-soft", "behind"])
def test_groups_say_what_columns_say(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_totals, "MIN_SCORED_ROWS", 0)
    simulation = Simulation.load([node(index) for index in range(12)], [SERVICE])
    scheduler, by_groups = simulation.scheduler, 0
    for index in range(60):
        pod = scheduler.cache.shapes.info(replica(template(name), index))
        signature = scheduler.cycle._engines[pod.scheduler_name].signatures.get(pod).signature
        assert isinstance(signature, Signature)
        (best, count), (expected, expected_count) = signature.best_rows_by_group(), signature.best_of_all()
        assert (list(best), count) == (list(map(int, expected)), expected_count), f"pod {index}"
        by_groups += signature.row_totals.grouped is not None and signature.row_totals.grouped._rows is not None
        assert scheduler.cycle.schedule_replicas([pod])
    assert by_groups > 50, "groups are hardly used"


@pytest.mark.parametrize(("name", "has_groups"), [("soft-zone", False), ("behind", False), ("hard-zone", True)])
def test_few_rows_that_are_only_scored_need_no_groups(name: str, has_groups: bool) -> None:
    simulation = Simulation.load([node(index) for index in range(12)], [SERVICE])
    scheduler = simulation.scheduler
    for index in range(3):
        pod = scheduler.cache.shapes.info(replica(template(name), index))
        signature = scheduler.cycle._engines[pod.scheduler_name].signatures.get(pod).signature
        assert isinstance(signature, Signature)
        assert scheduler.cycle.schedule_replicas([pod])
        assert (signature.row_totals.grouped is not None) is has_groups
