# SPDX-License-Identifier: Apache-2.0
"""Assumed pods: in the columns at once, until they are confirmed, forgotten or too old."""

from __future__ import annotations

import pytest
from tests.state.caches import Caches
from tests.state.tables import usual_node

from steersman.scheduler.state.pod_lifecycle import CacheError
from steersman.testing import make_pod

POD = make_pod("web").req(cpu="1")


@pytest.fixture
def caches() -> Caches:
    made = Caches()
    made.cache.set_node(usual_node("n1").obj())
    made.cache.set_node(usual_node("n2").obj())
    return made


class TestAssume:
    def test_an_assumed_pod_takes_its_room_at_once(self, caches: Caches) -> None:
        info = caches.assume(POD, "n1")
        assert caches.requested("n1") == 1000
        assert caches.cache.is_assumed(info.uid)
        assert (caches.cache.pod_count, caches.cache.assumed_count) == (1, 1)
        caches.cache.validate_state()

    def test_a_pod_is_assumed_once(self, caches: Caches) -> None:
        info = caches.assume(POD, "n1")
        with pytest.raises(CacheError, match="after: assume"):
            caches.cache.assume(info, "n2")
        caches.cache.validate_state()

    def test_a_pod_that_runs_is_not_assumed(self, caches: Caches) -> None:
        caches.cache.add_pod(POD.node("n1").obj())
        with pytest.raises(CacheError):
            caches.assume(POD, "n2")
        caches.cache.validate_state()


class TestForget:
    def test_a_forgotten_pod_gives_its_room_back(self, caches: Caches) -> None:
        info = caches.assume(POD, "n1")
        caches.cache.forget(info)
        assert caches.requested("n1") == 0
        assert not caches.cache.is_assumed(info.uid)
        assert caches.cache.get(info.uid) is None
        caches.cache.validate_state()

    def test_a_forgotten_pod_may_be_assumed_again(self, caches: Caches) -> None:
        info = caches.assume(POD, "n1")
        caches.cache.forget(info)
        caches.cache.assume(info, "n2")
        assert (caches.requested("n1"), caches.requested("n2")) == (0, 1000)
        caches.cache.validate_state()

    def test_a_pod_whose_binding_finished_may_still_be_forgotten(self, caches: Caches) -> None:
        info = caches.assume(POD, "n1")
        caches.cache.finish_binding(info)
        caches.cache.forget(info)
        assert caches.cache.pod_count == 0

    def test_only_assumed_pods_are_forgotten(self, caches: Caches) -> None:
        info = caches.cache.shapes.info(POD.obj())
        with pytest.raises(CacheError, match="a pod that is absent"):
            caches.cache.forget(info)
        caches.cache.add_pod(POD.node("n1").obj())
        with pytest.raises(CacheError, match="a pod that is added"):
            caches.cache.forget(info)

    def test_the_end_of_a_binding_that_the_watch_has_overtaken_is_ignored(self, caches: Caches) -> None:
        info = caches.assume(POD, "n1")
        caches.cache.add_pod(POD.node("n1").obj())
        caches.cache.finish_binding(info)
        assert not caches.cache.is_assumed(info.uid)
        caches.cache.validate_state()
