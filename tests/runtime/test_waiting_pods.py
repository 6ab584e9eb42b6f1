# SPDX-License-Identifier: Apache-2.0
"""Pods that wait for permission get one verdict."""

from __future__ import annotations

from steersman.framework.status import Code, Status
from steersman.scheduler.runtime.waiting_pods import PodAtPermit, WaitingPods
from steersman.testing import make_pod


def waiting(*plugins: str) -> PodAtPermit:
    return PodAtPermit(make_pod("p").info(), "n1", dict.fromkeys(plugins, 10.0))


def test_every_plugin_must_allow() -> None:
    pod = waiting("A", "B")
    pod.allow("A")
    assert pod.verdict is None
    pod.allow("B")
    assert pod.verdict == Status(Code.SUCCESS)


def test_one_rejection_settles_it() -> None:
    pod = waiting("A", "B")
    assert pod.reject("A", "no")
    assert pod.verdict == Status(Code.UNSCHEDULABLE, ("no",), "A")


def test_the_first_verdict_stays() -> None:
    pod = waiting("A")
    pod.allow("A")
    assert not pod.reject("A", "too late")
    assert pod.verdict == Status(Code.SUCCESS)


def test_a_callback_gets_the_verdict_once() -> None:
    pod, told = waiting("A", "B"), []
    pod.on_verdict(lambda: told.append(pod.verdict))
    pod.reject("A", "no")
    pod.reject("B", "no")
    pod.allow("B")
    assert told == [Status(Code.UNSCHEDULABLE, ("no",), "A")]


def test_a_late_callback_gets_the_verdict_immediately() -> None:
    pod, told = waiting("A"), []
    pod.allow("A")
    pod.on_verdict(lambda: told.append(pod.verdict))
    assert told == [Status(Code.SUCCESS)]


def test_pods_are_found_by_uid() -> None:
    pods, pod = WaitingPods(), waiting("A")
    pods.add(pod)
    assert len(pods) == 1
    assert pods.get(pod.pod.uid) is pod
    assert list(pods) == [pod]
    assert pods.reject(pod.pod.uid, "A", "no")
    pods.remove(pod.pod.uid)
    assert not pods.reject(pod.pod.uid, "A", "no")
    assert len(pods) == 0
