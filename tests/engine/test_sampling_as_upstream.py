# SPDX-License-Identifier: Apache-2.0
"""Searches among nodes that come, go and change zones find what kube-scheduler's would, one after the other."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st
from tests.cycle.scheduling import Cycles
from tests.engine.upstream_search import UpstreamSearch

from steersman.framework.node_info import NodeInfo
from steersman.framework.plugin import FilterPlugin, Plugin, PreFilterPlugin, PreFilterResult, ScorePlugin
from steersman.framework.pod_info import PodInfo
from steersman.testing import make_node, make_pod

REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"


class ByShare(FilterPlugin):
    """Of every ten nodes so many fit as the pod's label says."""

    name = "ByShare"

    def filter(self, pod: object, node: object) -> str | None:
        return None if fits(pod.labels["share"], node.name) else "not this one"  # type: ignore[attr-defined]


class SomeAdmitted(PreFilterPlugin):
    """Admits the nodes whose number ends like the pod's label says."""

    name = "SomeAdmitted"

    def pre_filter(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> PreFilterResult | None:
        ending = pod.labels["ending"]
        return PreFilterResult(admitted([node.name for node in nodes], ending)) if ending else None


class Flat(ScorePlugin):
    name = "Flat"

    def score(self, pod: object, node: object) -> int:
        return 1


def fits(share: str, node: str) -> bool:
    return (int(node[1:]) * 7 + int(share)) % 10 < int(share)


def admitted(names: list[str], ending: str) -> frozenset[str]:
    return frozenset(name for name in names if name.endswith(ending))


class Both:
    """A cluster that both searches are made in."""

    def __init__(self, rng: random.Random, percentage: int, *, has_scoring: bool) -> None:
        self._rng = rng
        plugins: list[Plugin] = [SomeAdmitted(), ByShare(), *([Flat()] if has_scoring else [])]
        self.cycles = Cycles(*plugins, nodes=[], percentage=percentage, weights={"Flat": 1})
        self.upstream = UpstreamSearch(percentage, has_scoring=has_scoring)
        self._made = 0

    def change(self) -> None:
        """A node comes or comes again, goes, or is labelled anew."""
        known, what = list(self.upstream.nodes), self._rng.random()
        if what < 0.5 or not known:
            name = f"n{self._rng.randrange(400)}"
            labels = self._labels()
            (self.upstream.update_node if name in known else self.upstream.add_node)(name, labels)
            self._set(name, labels)
        elif what < 0.7:
            name = self._rng.choice(known)
            labels = self._labels()
            self.upstream.update_node(name, labels)
            self._set(name, labels)
        else:
            name = self._rng.choice(known)
            self.upstream.remove_node(name)
            self.cycles.cache.remove_node(make_node(name).obj())

    def _labels(self) -> dict[str, str]:
        labels = {REGION: self._rng.choice("xy"), ZONE: self._rng.choice("abc"), OLD_ZONE: "old"}
        return {key: value for key, value in labels.items() if self._rng.random() < (0.1 if key == OLD_ZONE else 0.8)}

    def _set(self, name: str, labels: dict[str, str]) -> None:
        node = make_node(name)
        for key, value in labels.items():
            node = node.label(key, value)
        self.cycles.add_node(node)

    def search(self) -> tuple[set[str], set[str]]:
        """What the searches find for a pod."""
        rng, share = self._rng, str(self._rng.choice([0, 1, 3, 7, 10]))
        ending = rng.choice(["", "", "", "7", "3"])
        names = list(self.upstream.nodes)
        nominated = rng.choice(names) if names and rng.random() < 0.3 else ""
        self._made += 1
        pod = make_pod(f"p{self._made}").label("share", share).label("ending", ending)
        evaluation = self.cycles.evaluate(pod.nominated(nominated) if nominated else pod)
        allowed = admitted(names, ending) if ending else None
        expected = self.upstream.find(
            lambda name: fits(share, name), nominated, None if allowed is None else sorted(allowed)
        )
        return set(evaluation.feasible()), expected

    @property
    def lists(self) -> tuple[list[str], list[str]]:
        search = next(iter(self.cycles.cycle._engines.values())).sampling.search
        return list(search.names), self.upstream.snapshot_list


@given(st.integers(0, 10**6), st.sampled_from([10, 35, 60, 100]), st.booleans())
def test_searches_are_upstreams(seed: int, percentage: int, has_scoring: bool) -> None:
    rng = random.Random(seed)
    both = Both(rng, percentage, has_scoring=has_scoring)
    for _ in range(rng.choice([5, 150, 400])):
        both.change()
    for _ in range(20):
        for _ in range(rng.choice([0, 0, 0, 1, 2, 30])):
            both.change()
        if not both.upstream.nodes:
            continue
        found, expected = both.search()
        assert found == expected
        if not both.cycles.cycle._engines["default-scheduler"].sampling.is_off:
            search, listed = both.lists
            assert search == listed
        both.cycles.cycle.validate_state()
        both.cycles.cache.validate_state()


@pytest.mark.parametrize("has_scoring", [True, False])
def test_the_index_of_the_next_search_is_upstreams(has_scoring: bool) -> None:
    both = Both(random.Random(4), 30, has_scoring=has_scoring)
    for _ in range(400):
        both.change()
    moved = set()
    for _ in range(50):
        both.search()
        index = next(iter(both.cycles.cycle._engines.values())).sampling.search.index
        assert index == both.upstream.next_start
        moved.add(index)
    assert len(moved) > 10
