# SPDX-License-Identifier: Apache-2.0
"""Evictions respect disruption budgets."""

from __future__ import annotations

import msgspec
import pytest
from tests.embedded.stores import START_TEXT, Recorder, make_store, pod, raw

from steersman import api
from steersman.cluster.store import Conflict, StatusError, Store, TooManyRequests, evict
from steersman.testing import DisruptionBudgetBuilder, PodBuilder, make_disruption_budget, make_pod

READY = make_pod("web").label("app", "web").node("n1").phase("Running").condition("Ready", "True")
UNREADY = make_pod("web").label("app", "web").node("n1").phase("Running")


def _budget(allowed: int, name: str = "web") -> DisruptionBudgetBuilder:
    return make_disruption_budget(name).selector({"app": "web"}).allows(allowed)


def _healthy(current: int, desired: int, policy: str | None = None) -> api.PodDisruptionBudget:
    budget = raw(_budget(0))
    health = {"current_healthy": current, "desired_healthy": desired, "observed_generation": 1}
    status = msgspec.structs.replace(budget.status, **health)
    spec = msgspec.structs.replace(budget.spec, unhealthy_pod_eviction_policy=policy)
    return msgspec.structs.replace(budget, spec=spec, status=status)


def _exists(store: Store) -> bool:
    return store.find(api.Pod, "default/web") is not None


def test_a_pod_without_a_budget_is_evicted() -> None:
    store = make_store(READY)
    evict(store, "default/web")
    assert not _exists(store)


def test_an_evicted_pod_says_so_before_it_goes() -> None:
    store, heard = make_store(READY), Recorder()
    store.subscribe(heard, (api.Pod,))
    evict(store, "default/web")
    marked = heard.seen[1][2]
    assert isinstance(marked, api.Pod)
    assert marked.status.conditions[-1].reason == "EvictionByEvictionAPI"
    assert heard.story[-1] == ("DELETED", "web")


def test_an_eviction_uses_up_a_disruption() -> None:
    store = make_store(READY, _budget(2))
    evict(store, "default/web")
    status = store.get(api.PodDisruptionBudget, "default/web").status
    assert status.disruptions_allowed == 1
    assert status.disrupted_pods == {"web": START_TEXT}
    assert not _exists(store)


def test_a_budget_that_is_used_up_protects_the_pod() -> None:
    store = make_store(READY, _budget(0))
    with pytest.raises(TooManyRequests, match="Cannot evict pod as it would violate") as refusal:
        evict(store, "default/web")
    assert refusal.value.code == 429
    assert pod(store).status.conditions[0].type == "Ready"


def test_a_budget_protects_only_the_pods_it_selects() -> None:
    other = make_disruption_budget("db").selector({"app": "db"}).allows(0)
    elsewhere = _budget(0).namespace("other")
    unusable = make_disruption_budget("bad").selector(
        api.LabelSelector(match_expressions=(api.LabelSelectorRequirement("app", "Near"),))
    )
    store = make_store(READY, other, elsewhere, unusable)
    evict(store, "default/web")
    assert not _exists(store)


def test_a_pod_with_two_budgets_cannot_be_evicted() -> None:
    store = make_store(READY, _budget(1, "one"), _budget(1, "two"))
    with pytest.raises(StatusError, match="more than one PodDisruptionBudget") as refusal:
        evict(store, "default/web")
    assert refusal.value.code == 500


@pytest.mark.parametrize(
    "builder",
    [
        UNREADY.phase("Pending"),
        UNREADY.phase("Succeeded"),
        UNREADY.phase("Failed"),
        READY.terminating(),
    ],
)
def test_pods_that_do_not_serve_need_no_budget(builder: PodBuilder) -> None:
    store = make_store(builder, _budget(0))
    evict(store, "default/web")
    assert not _exists(store)


def test_an_unready_pod_may_go_when_enough_others_are_healthy() -> None:
    store = make_store(UNREADY)
    store.create(_healthy(current=2, desired=2))
    evict(store, "default/web")
    assert not _exists(store)


def test_an_unready_pod_stays_when_too_few_are_healthy() -> None:
    store = make_store(UNREADY)
    store.create(_healthy(current=1, desired=2))
    with pytest.raises(TooManyRequests, match="The disruption budget web needs 2 healthy pods and has 1 currently"):
        evict(store, "default/web")


def test_an_unready_pod_may_always_go_if_the_budget_says_so() -> None:
    store = make_store(UNREADY)
    store.create(_healthy(current=1, desired=2, policy="AlwaysAllow"))
    evict(store, "default/web")
    assert not _exists(store)


def test_an_eviction_may_leave_time() -> None:
    store = make_store(READY)
    evict(store, "default/web", grace_period_seconds=30)
    assert pod(store).metadata.deletion_grace_period_seconds == 30


def test_an_eviction_may_be_meant_for_one_uid_only() -> None:
    store = make_store(READY)
    with pytest.raises(Conflict):
        evict(store, "default/web", uid="another")


def test_a_budget_that_the_controller_has_not_seen_asks_for_another_attempt_in_ten_seconds() -> None:
    store = make_store(READY)
    store.create(raw(_budget(0)))
    with pytest.raises(TooManyRequests, match="web is still being processed by the server") as refusal:
        evict(store, "default/web")
    assert refusal.value.retry_seconds == 10


def test_a_budget_with_healthy_pods_to_spare_may_still_say_no() -> None:
    store = make_store(READY)
    store.create(_healthy(current=3, desired=2))
    with pytest.raises(TooManyRequests, match="The disruption budget web does not allow evicting pods currently"):
        evict(store, "default/web")
