# SPDX-License-Identifier: Apache-2.0
"""Simulated kubelets: what becomes of a pod once it is bound."""

from __future__ import annotations

import pytest
from tests.embedded.stores import bare_pod, clock_of, make_store, pod
from tests.embedded.timers import FakeTimers

from steersman import api
from steersman.base.errors import InputError
from steersman.cluster.kubelets import RUN_SECONDS, KubeletPolicy, Kubelets, PodSettings
from steersman.cluster.store import Pods, Store
from steersman.testing import PodBuilder, make_node, make_pod


def _cluster(*pods: PodBuilder, start_seconds: float = 0.0) -> tuple[Store, FakeTimers]:
    store = make_store(make_node("n1"), *pods)
    timers = FakeTimers(store)
    Kubelets(store, timers, KubeletPolicy(pods=PodSettings(start_seconds=start_seconds or None)))
    return store, timers


def _bind(store: Store, node: str = "n1", name: str = "web") -> None:
    Pods(store).bind("default", name, "", node)


def _phase(store: Store) -> str:
    return pod(store).status.phase


def _exists(store: Store) -> bool:
    return store.find(api.Pod, "default/web") is not None


def test_a_bound_pod_runs() -> None:
    store, _ = _cluster(make_pod("web"))
    clock_of(store).advance(5)
    _bind(store)
    status = pod(store).status
    assert (status.phase, status.start_time) == ("Running", "2031-01-01T00:00:05Z")
    assert [(c.type, c.status) for c in status.conditions] == [
        ("PodScheduled", "True"),
        ("PodReadyToStartContainers", "True"),
        ("Initialized", "True"),
        ("ContainersReady", "True"),
        ("Ready", "True"),
    ]


def test_a_pod_that_waits_for_a_node_does_not_run() -> None:
    store, timers = _cluster(make_pod("web").phase("Pending"))
    timers.run_until(100)
    assert _phase(store) == "Pending"


def test_pods_that_were_bound_before_the_kubelet_came_run() -> None:
    store, _ = _cluster(make_pod("web").node("n1"))
    assert _phase(store) == "Running"


def test_running_and_finished_pods_stay_as_they_are() -> None:
    started = make_pod("web").node("n1").phase("Running").started("2030-01-01T00:00:00Z")
    store, _ = _cluster(started, make_pod("done").node("n1").phase("Failed"))
    assert pod(store).status.start_time == "2030-01-01T00:00:00Z"
    assert pod(store, "done").status.phase == "Failed"


def test_starting_may_take_time() -> None:
    store, timers = _cluster(make_pod("web").phase("Pending"), start_seconds=3)
    _bind(store)
    timers.run_until(2)
    assert _phase(store) == "Pending"
    timers.run_until(3)
    assert (_phase(store), pod(store).status.start_time) == ("Running", "2031-01-01T00:00:03Z")


def test_a_pod_on_a_node_that_does_not_exist_waits_for_it() -> None:
    store, _ = _cluster(make_pod("web").phase("Pending"))
    _bind(store, "n2")
    assert _phase(store) == "Pending"
    store.create(make_node("n2").obj())
    assert _phase(store) == "Running"


def test_a_pod_that_went_before_its_node_came_is_forgotten() -> None:
    store, _ = _cluster(make_pod("web"))
    _bind(store, "n2")
    store.delete(api.Pod, "default/web")
    store.create(bare_pod())
    store.create(make_node("n2").obj())
    assert _phase(store) == ""


def test_a_pod_succeeds_after_the_seconds_of_its_annotation() -> None:
    store, timers = _cluster(make_pod("web").annotation(RUN_SECONDS, "30"))
    timers.run_until(10)
    _bind(store)
    timers.run_until(39)
    assert _phase(store) == "Running"
    timers.run_until(40)
    status = pod(store).status
    assert status.phase == "Succeeded"
    assert status.conditions[-1] == api.Condition(
        type="Ready", status="False", reason="PodCompleted", last_transition_time="2031-01-01T00:00:40Z"
    )


def test_a_running_pod_of_a_dump_has_only_the_rest_of_its_time_left() -> None:
    half_done = (
        make_pod("web").node("n1").phase("Running").started("2030-12-31T23:59:40Z").annotation(RUN_SECONDS, "30")
    )
    store, timers = _cluster(half_done)
    timers.run_until(9)
    assert _phase(store) == "Running"
    timers.run_until(10)
    assert _phase(store) == "Succeeded"


def test_a_pod_whose_time_is_over_succeeds_at_once() -> None:
    overdue = make_pod("web").node("n1").phase("Running").started("2030-01-01T00:00:00Z").annotation(RUN_SECONDS, "30")
    store, timers = _cluster(overdue)
    timers.run_until(0)
    assert _phase(store) == "Succeeded"


def test_a_pod_that_was_recreated_does_not_finish_for_the_old_one() -> None:
    store, timers = _cluster(make_pod("web").annotation(RUN_SECONDS, "30"))
    _bind(store)
    store.delete(api.Pod, "default/web")
    store.create(bare_pod())
    _bind(store)
    timers.run_until(100)
    assert _phase(store) == "Running"


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf", ""])
def test_an_annotation_that_is_no_number_of_seconds_is_refused(text: str) -> None:
    store, _ = _cluster(make_pod("web").annotation(RUN_SECONDS, text))
    with pytest.raises(InputError, match=r"Pod default/web: metadata\.annotations\[steersman\.dev/run-seconds\]"):
        _bind(store)


def test_a_terminating_pod_goes_when_its_grace_period_ends() -> None:
    store, timers = _cluster(make_pod("web"))
    _bind(store)
    Pods(store).delete("default/web", grace_period_seconds=30)
    timers.run_until(29)
    assert _exists(store)
    timers.run_until(30)
    assert not _exists(store)


def test_a_terminating_pod_goes_earlier_if_its_grace_period_is_shortened() -> None:
    store, timers = _cluster(make_pod("web"))
    _bind(store)
    Pods(store).delete("default/web", grace_period_seconds=30)
    Pods(store).delete("default/web", grace_period_seconds=10)
    timers.run_until(10)
    assert not _exists(store)
    timers.run_until(40)


def test_a_grace_period_that_starts_between_two_seconds_ends() -> None:
    store, timers = _cluster(make_pod("web"))
    _bind(store)
    timers.run_until(0.7)
    Pods(store).delete("default/web", grace_period_seconds=30)
    timers.run_until(31)
    assert not _exists(store)


def test_a_terminating_pod_of_a_dump_goes() -> None:
    store, timers = _cluster(make_pod("web").node("n1").phase("Running").terminating("2031-01-01T00:00:20Z"))
    timers.run_until(19)
    assert _exists(store)
    timers.run_until(20)
    assert not _exists(store)


def test_a_pod_that_terminates_before_it_has_started_never_runs() -> None:
    store, timers = _cluster(make_pod("web").phase("Pending"), start_seconds=5)
    _bind(store)
    Pods(store).delete("default/web", grace_period_seconds=30)
    timers.run_until(20)
    assert _phase(store) == "Pending"


def test_nothing_happens_on_a_node_that_is_gone() -> None:
    store, timers = _cluster(make_pod("web").annotation(RUN_SECONDS, "30"), make_pod("going"))
    _bind(store)
    _bind(store, name="going")
    Pods(store).delete("default/going", grace_period_seconds=30)
    store.delete(api.Node, "n1")
    timers.run_until(60)
    assert _phase(store) == "Running"
    assert pod(store, "going")


def test_a_node_that_comes_back_takes_up_its_pods() -> None:
    store, timers = _cluster(make_pod("web").annotation(RUN_SECONDS, "30"), make_pod("going"))
    _bind(store)
    _bind(store, name="going")
    Pods(store).delete("default/going", grace_period_seconds=30)
    store.delete(api.Node, "n1")
    timers.run_until(60)
    store.create(make_node("n1").obj())
    timers.run_until(60)
    assert _phase(store) == "Succeeded"
    assert store.find(api.Pod, "default/going") is None
