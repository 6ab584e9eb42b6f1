# SPDX-License-Identifier: Apache-2.0
"""Carrying a preemption out: victims are turned back in memory, or marked and deleted; the last one goes last."""

from __future__ import annotations

from tests.preemption.scheduler_pods import FakePods, FakePostFilterHandle, running

from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Code
from steersman.scheduler.preemption.executor import Executor, Preemptor
from steersman.scheduler.runtime.waiting_pods import PodAtPermit
from steersman.testing import make_pod

PREEMPTOR = make_pod("preemptor").priority(100).scheduler("my-scheduler").info()
EVENT = f"Preempted by pod {PREEMPTOR.uid} on node n1"


def evict(pods: FakePods, victims: list[PodInfo], nominated: list[PodInfo] | None = None) -> Executor:
    handle = FakePostFilterHandle(pods, {"n1": nominated or []})
    executor = Executor(handle, "DefaultPreemption")
    executor.start(Preemptor.of_pod(PREEMPTOR), "n1", victims)
    handle.finish()
    return executor


def test_a_victim_is_marked_and_deleted_with_an_event() -> None:
    (victim,) = victims = running(make_pod("victim"))
    pods = FakePods(victims)
    evict(pods, victims)
    assert pods.story == ["mark victim", "delete victim", f"event on victim: {EVENT}"]
    assert victim.key not in pods.pods


def test_the_mark_says_who_preempts_and_why() -> None:
    victims = running(make_pod("victim"))
    pods = FakePods(victims)
    evict(pods, victims)
    condition = pods.conditions["victim"]
    assert (condition.type, condition.status, condition.reason) == ("DisruptionTarget", "True", "PreemptionByScheduler")
    assert condition.message == "my-scheduler: preempting to accommodate a higher priority pod"


def test_the_last_victim_goes_after_all_others() -> None:
    victims = running(make_pod("a"), make_pod("b"), make_pod("c"))
    pods = FakePods(victims)
    evict(pods, victims)
    assert {entry for entry in pods.story[:4] if not entry.startswith("event")} <= {
        "mark a",
        "mark b",
        "delete a",
        "delete b",
    }
    assert pods.story[-3:] == ["mark c", "delete c", f"event on c: {EVENT}"]


def test_a_victim_that_is_terminating_already_is_left_alone() -> None:
    victims = running(make_pod("leaving").terminating())
    pods = FakePods(victims)
    executor = evict(pods, victims)
    assert pods.story == []
    assert not executor.is_gated(PREEMPTOR.uid)


def test_a_victim_that_is_gone_already_is_no_failure() -> None:
    victims = running(make_pod("gone"))
    pods = FakePods()
    evict(pods, victims)
    assert pods.story == ["mark gone"]


def test_a_victim_that_waits_for_permission_is_turned_back_without_an_api_call() -> None:
    (victim,) = victims = running(make_pod("waiting"))
    pods = FakePods(victims)
    waiting = PodAtPermit(victim, "n1", {"Gang": 60.0})
    pods.waiting_for_permission.add(waiting)
    evict(pods, victims)
    assert pods.story == [f"event on waiting: {EVENT} (in kube-scheduler memory)."]
    assert waiting.verdict is not None
    assert (waiting.verdict.code, waiting.verdict.message) == (Code.ERROR, "preempted")


def test_a_victim_whose_permission_has_just_been_settled_is_deleted() -> None:
    (victim,) = victims = running(make_pod("settled"))
    pods = FakePods(victims)
    waiting = PodAtPermit(victim, "n1", {"Gang": 60.0})
    waiting.allow("Gang")
    pods.waiting_for_permission.add(waiting)
    evict(pods, victims)
    assert "delete settled" in pods.story


def test_a_victim_that_prepares_to_be_bound_is_called_back_without_an_api_call() -> None:
    (victim,) = victims = running(make_pod("preparing"))
    pods = FakePods(victims)
    preparing = pods.pre_binding.add(victim.uid)
    evict(pods, victims)
    assert preparing.cancelled_by == "preempted by DefaultPreemption"
    assert pods.story == [f"event on preparing: {EVENT} (in kube-scheduler memory)."]


def test_a_victim_that_is_being_bound_is_deleted() -> None:
    (victim,) = victims = running(make_pod("binding"))
    pods = FakePods(victims)
    pods.pre_binding.add(victim.uid).finish()
    evict(pods, victims)
    assert "delete binding" in pods.story


def test_a_failure_lets_the_preemptor_try_again_at_once() -> None:
    victims = running(make_pod("protected"))
    pods = FakePods(victims)
    pods.refused = {"default/protected"}
    executor = evict(pods, victims)
    assert pods.story == ["mark protected", "refuse to delete protected", "activate preemptor"]
    assert not executor.is_gated(PREEMPTOR.uid)


def test_after_a_failure_the_last_victim_is_spared() -> None:
    victims = running(make_pod("protected"), make_pod("last"))
    pods = FakePods(victims)
    pods.refused = {"default/protected"}
    evict(pods, victims)
    assert "default/last" in pods.pods
    assert pods.story[-1] == "activate preemptor"


def test_less_important_pods_lose_their_nomination_first() -> None:
    victims = running(make_pod("victim"))
    pods = FakePods(victims)
    humble = make_pod("humble").priority(1).nominated("n1").info()
    rival = make_pod("rival").priority(100).nominated("n1").info()
    evict(pods, victims, [humble, rival])
    assert pods.story[:2] == ["nominate humble to ''", "mark victim"]


def test_a_nomination_that_the_server_does_not_know_of_is_not_cleared_there() -> None:
    victims = running(make_pod("victim"))
    pods = FakePods(victims)
    evict(pods, victims, [make_pod("humble").priority(1).info()])
    assert pods.story[0] == "mark victim"


def test_a_nomination_that_cannot_be_cleared_does_not_stop_the_preemption() -> None:
    victims = running(make_pod("victim"))
    pods = FakePods(victims)
    pods.refused = {"default/humble"}
    evict(pods, victims, [make_pod("humble").priority(1).nominated("n1").info()])
    assert "delete victim" in pods.story
    assert pods.story[-1] == "activate preemptor"
