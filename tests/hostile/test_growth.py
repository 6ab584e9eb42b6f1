# SPDX-License-Identifier: Apache-2.0
"""Users write selectors, keys and names without end: what the scheduler keeps for them is bounded, and freed with the pods.

In the process, with few nodes and small bounds, so that they are reached soon. What is looked at is the number of entries of
the tables and the memory that was allocated, never a time.
"""

from __future__ import annotations

import gc
import itertools
import tracemalloc
from collections.abc import Callable, Iterator
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
    "steersman.framework.columns.StatusTable.MAX_STATUSES": 32,
    "steersman.scheduler.state.node_table._MAX_SPARE": 16,
    "steersman.scheduler.state.resource_deltas._MAX_SHAPES": 16,
    "steersman.scheduler.state.label_keys._MAX_UNUSED": 16,
    "steersman.scheduler.state.label_classes._MAX_QUERIED_KEYS": 16,
    "steersman.scheduler.engine.signatures._MIN_SIGNATURES": 8,
    "steersman.scheduler.engine.signatures._MAX_SIGNATURES": 16,
    "steersman.scheduler.engine.signatures._SPARE_FRAGMENTS": 16,
    "steersman.scheduler.engine.signature._MAX_FINGERPRINTS": 16,
    "steersman.scheduler.assembly.pending_pods.PendingInfos._MIN_SWEEP": 16,
    "steersman.scheduler.runtime.applicable_calls._MAX_SHAPES": 16,
    "steersman.scheduler.plugins.node_volume_limits.columns._MAX_SHAPES": 16,
    "steersman.scheduler.plugins.pod_topology_spread.default_selector._MOST": 16,
}

#: Bytes that a template may leave behind: entries of caches that others share, as that of parsed quantities.
LEFT_BEHIND = 2_500


@pytest.fixture
def cluster() -> Iterator[ChangingCluster]:
    with ExitStack() as stack:
        for name, bound in SMALL_BOUNDS.items():
            stack.enter_context(patch(name, bound))
        yield ChangingCluster(NODES)


@pytest.mark.parametrize("kind", KINDS)
def test_no_table_grows_with_the_number_of_templates(cluster: ChangingCluster, kind: str) -> None:
    for wave in range(2):
        cluster.wave(KINDS[kind], wave * WAVE, WAVE)
    before = cluster.scheduler.cache_sizes()
    for wave in range(2, 4):
        cluster.wave(KINDS[kind], wave * WAVE, WAVE)
    after = cluster.scheduler.cache_sizes()
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
    growth = _least_growth(lambda wave: cluster.wave(KINDS[kind], (1 + wave) * 2 * WAVE, 2 * WAVE))
    assert growth / (2 * WAVE) < LEFT_BEHIND


def test_shapes_go_with_their_pods() -> None:
    """What is remembered of a shape, its charges say, does not keep it: a signature may, and there are few of these."""
    few = {
        name: bound
        for name, bound in SMALL_BOUNDS.items()
        if name.startswith(("steersman.scheduler.engine", "steersman.framework"))
    }
    with ExitStack() as stack:
        for name, bound in few.items():
            stack.enter_context(patch(name, bound))
        cluster = ChangingCluster(NODES)
        for wave in range(3):
            cluster.wave(KINDS["required-anti-affinity"], wave * WAVE, WAVE)
        gc.collect()
        assert sum(isinstance(found, PodShape) for found in gc.get_objects()) < WAVE


def _least_growth(run_wave: Callable[[int], object]) -> int:
    """Return the smallest growth of memory, in bytes, over four of five waves.

    A leak grows in every wave. A single wave can also replace the hash table of a full LRU cache that the whole process
    shares, for instance that of parsed label requirements: the new table counts and the old one, which is older than the
    measurement, does not. Which wave that is depends on the tests that ran before in the process.
    """
    tracemalloc.start()
    try:
        traced = []
        for wave in range(5):
            run_wave(wave)
            traced.append(_traced())
    finally:
        tracemalloc.stop()
    return min(after - before for before, after in itertools.pairwise(traced))


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
    growth = _least_growth(lambda wave: large.wave(KINDS[kind], 20 + wave * WAVE, WAVE, stay=True))
    assert growth / WAVE < 16_000
    assert large.scheduler.cache_sizes()["affinity terms"] >= 20 + 2 * WAVE


def test_a_node_update_examines_what_is_in_use_not_at_what_was(cluster: ChangingCluster) -> None:
    for kind in ("required-anti-affinity", "topology-keys", "hostnames", "node-affinity", "spread-selectors"):
        cluster.wave(KINDS[kind], 0, 2 * WAVE)
    kept = cluster.scheduler.cache_sizes()
    in_use = kept["count tables"] + kept["topologies"] + kept["label columns"] + kept["resource columns"]
    assert in_use < 100
