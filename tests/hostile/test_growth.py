# SPDX-License-Identifier: Apache-2.0
"""Users write selectors, keys and names without end: what the scheduler keeps for them is bounded, and freed with the pods.

In the process, with few nodes and small bounds, so that they are reached soon. What is looked at is the number of entries of
the tables and the memory that was allocated, never a time.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack
from unittest.mock import patch

import pytest
from benchmarks.changing_templates import KINDS
from benchmarks.growth_by_templates import ChangingCluster

from steersman.framework.pod_info import PodShape

pytestmark = pytest.mark.usefixtures("frozen_past")

NODES = 60
WAVE = 60

#: Tables whose entries belong to pods: without pods there are none.
OF_PODS = ("affinity terms", "requested resources", "label classes")

#: A few entries each, instead of hundreds.
SMALL_BOUNDS = {
    "steersman.framework.pod_info._SPARE_SHAPES": 16,
    "steersman.framework.pod_info._SPARE_TEMPLATES": 16,
    "steersman.framework.columns.StatusTable.MOST": 32,
    "steersman.state.node_table._MOST_SPARE": 16,
    "steersman.state.charges._MOST_SHAPES": 16,
    "steersman.state.label_keys._MOST_UNUSED": 16,
    "steersman.state.label_classes._MOST_ASKED": 16,
    "steersman.engine.signatures._LEAST_SIGNATURES": 8,
    "steersman.engine.signatures._MOST_SIGNATURES": 16,
    "steersman.engine.signatures._SPARE_FRAGMENTS": 16,
    "steersman.engine.signature._MOST_REMEMBERED": 16,
    "steersman.assembly.pending_pods.PendingInfos._FEWEST": 16,
    "steersman.runtime.applicable_calls._MOST_SHAPES": 16,
    "steersman.plugins.node_volume_limits.columns._MOST_SHAPES": 16,
    "steersman.plugins.pod_topology_spread.default_selector._MOST": 16,
}

#: Bytes that a template may leave behind: entries of caches that others share, as that of parsed quantities.
LEFT_BEHIND = 2_500


@pytest.fixture
def cluster() -> Iterator[ChangingCluster]:
    with ExitStack() as stack:
        for name, bound in SMALL_BOUNDS.items():
            stack.enter_context(patch(name, bound, create=True))
        yield ChangingCluster(NODES)


@pytest.mark.parametrize("kind", KINDS)
def test_no_table_grows_with_the_number_of_templates(cluster: ChangingCluster, kind: str) -> None:
    for wave in range(2):
        cluster.wave(KINDS[kind], wave * WAVE, WAVE)
    before = cluster.scheduler.kept()
    for wave in range(2, 4):
        cluster.wave(KINDS[kind], wave * WAVE, WAVE)
    after = cluster.scheduler.kept()
    assert {table: (before[table], count) for table, count in after.items() if count > before[table] + 16} == {}
    assert {table: after[table] for table in OF_PODS} == dict.fromkeys(OF_PODS, 0)
    cluster.scheduler.cache.validate_state()
    cluster.scheduler.cycle.validate_state()


@pytest.mark.parametrize(
    "kind",
    [
        "required-anti-affinity",
        "topology-keys",
        "unknown-resources",
        "hostnames",
        "spread-selectors",
        "requests",
        "services",
    ],
)
def test_memory_does_not_grow_with_the_number_of_templates(cluster: ChangingCluster, kind: str) -> None:
    cluster.wave(KINDS[kind], 0, 2 * WAVE)
    tracemalloc.start()
    try:
        cluster.wave(KINDS[kind], 2 * WAVE, 2 * WAVE)
        before = _traced()
        cluster.wave(KINDS[kind], 4 * WAVE, 2 * WAVE)
        assert (_traced() - before) / (2 * WAVE) < LEFT_BEHIND
    finally:
        tracemalloc.stop()


def test_shapes_go_with_their_pods() -> None:
    """What is remembered of a shape, its charges say, does not keep it: a signature may, and there are few of these."""
    few = {
        name: bound
        for name, bound in SMALL_BOUNDS.items()
        if name.startswith(("steersman.engine", "steersman.framework"))
    }
    with ExitStack() as stack:
        for name, bound in few.items():
            stack.enter_context(patch(name, bound, create=True))
        cluster = ChangingCluster(NODES)
        for wave in range(3):
            cluster.wave(KINDS["required-anti-affinity"], wave * WAVE, WAVE)
        gc.collect()
        assert sum(isinstance(found, PodShape) for found in gc.get_objects()) < WAVE


def _traced() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.parametrize("kind", ["required-anti-affinity", "preferred-anti-affinity", "topology-keys", "label-keys"])
def test_a_term_of_a_running_pod_takes_little_memory_however_many_nodes_there_are(
    cluster: ChangingCluster, kind: str
) -> None:
    """A kilobyte or two for the term, some for the pod itself; not eight bytes for every node, several times."""
    large = ChangingCluster(2000)
    large.wave(KINDS[kind], 0, 20, stay=True)
    tracemalloc.start()
    try:
        large.wave(KINDS[kind], 20, WAVE, stay=True)
        before = _traced()
        large.wave(KINDS[kind], 20 + WAVE, WAVE, stay=True)
        assert (_traced() - before) / WAVE < 16_000
    finally:
        tracemalloc.stop()
    assert large.scheduler.kept()["affinity terms"] >= 20 + 2 * WAVE


def test_a_node_update_looks_at_what_is_in_use_not_at_what_was(cluster: ChangingCluster) -> None:
    for kind in ("required-anti-affinity", "topology-keys", "hostnames", "node-affinity", "spread-selectors"):
        cluster.wave(KINDS[kind], 0, 2 * WAVE)
    kept = cluster.scheduler.kept()
    in_use = kept["count tables"] + kept["topologies"] + kept["label columns"] + kept["resource columns"]
    assert in_use < 100
