# SPDX-License-Identifier: Apache-2.0
"""Pods are removed from the columns for a question, and everything is as before afterwards."""

from __future__ import annotations

import pytest

from steersman.framework import PlacedPod
from steersman.scheduler.state import Cache, ObjectStore
from steersman.scheduler.state.removed_pods import removed
from steersman.testing import make_node, make_pod


def cache_with_pods() -> Cache:
    cache = Cache(ObjectStore())
    for name in ("n1", "n2"):
        cache.set_node(make_node(name).capacity(cpu="8", pods=10).obj())
    for name in ("a", "b", "c"):
        cache.add_pod(make_pod(name).req(cpu="1").host_port(80).anti_affinity("zone", {"x": "y"}).node("n1").obj())
    cache.add_pod(make_pod("d").req(cpu="2").node("n2").obj())
    return cache


def placed(cache: Cache, *names: str) -> list[PlacedPod]:
    return [PlacedPod(record.info, record.node_name) for record in cache.pods() if record.info.name in names]


def facts(cache: Cache) -> list[tuple[list[str], int, set[object], list[str]]]:
    infos = [cache.nodes.info(cache.nodes.rows[name]) for name in ("n1", "n2")]
    return [
        ([pod.name for pod in i.pods], i.requested("cpu"), set(i.used_ports), [p.name for p in i.pods_with_affinity])
        for i in infos
    ]


def test_the_pods_are_gone_within_the_block_and_back_after_it() -> None:
    cache = cache_with_pods()
    before = facts(cache)
    with removed(cache.nodes, placed(cache, "b", "d")):
        assert [names for names, *_ in facts(cache)] == [["a", "c"], []]
        assert [cpu for _, cpu, *_ in facts(cache)] == [2000, 0]
    assert facts(cache) == before
    cache.validate_state()


def test_everything_is_restored_after_an_error() -> None:
    cache = cache_with_pods()
    before = facts(cache)
    with pytest.raises(RuntimeError), removed(cache.nodes, placed(cache, "a", "b", "c")):
        raise RuntimeError("a plugin is broken")
    assert facts(cache) == before
    cache.validate_state()


def test_a_pod_that_is_removed_twice_is_an_error_that_changes_nothing() -> None:
    cache = cache_with_pods()
    before = facts(cache)
    with pytest.raises(KeyError), removed(cache.nodes, placed(cache, "a") * 2):
        pass
    assert facts(cache) == before
    cache.validate_state()


def test_pods_that_a_rebuilt_cache_has_already_are_not_added_twice() -> None:
    cache = cache_with_pods()
    with removed(cache.nodes, placed(cache, "a", "d")):
        cache.drop_pod("unknown")
        cache.drop_node("n2")
    assert cache.nodes.info(cache.nodes.rows["n1"]).requested("cpu") == 3000
    cache.validate_state()


def test_pods_may_be_assumed_and_forgotten_within_the_block() -> None:
    cache = cache_with_pods()
    before = facts(cache)
    pod = make_pod("new").req(cpu="4").info()
    with removed(cache.nodes, placed(cache, "a", "b")):
        cache.assume(pod, "n1")
        assert [names for names, *_ in facts(cache)] == [["c", "new"], ["d"]]
        cache.forget(pod)
    assert facts(cache) == before
    cache.validate_state()
