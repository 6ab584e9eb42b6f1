# SPDX-License-Identifier: Apache-2.0
"""While its victims are dealt with, a preemptor must not be tried again."""

from __future__ import annotations

import asyncio

import msgspec
from tests.plugins.handles import FakeGates
from tests.preemption.scheduler_pods import FakePods, FakePostFilterHandle, running

from steersman.config import DefaultPreemptionArgs
from steersman.framework.events import ActionType, EventResource, QueueingHint
from steersman.framework.status import Code
from steersman.scheduler.preemption import DefaultPreemption, Preemptor
from steersman.scheduler.preemption.default_preemption import REASON_UNDER_WAY
from steersman.testing import make_pod

PREEMPTOR = make_pod("preemptor").priority(100).info()


def plugin_of(pods: FakePods, *, gate: bool = True) -> tuple[DefaultPreemption, FakePostFilterHandle]:
    handle = FakePostFilterHandle(pods)
    handle.gates = FakeGates({"SchedulerAsyncPreemption": gate})
    return DefaultPreemption(DefaultPreemptionArgs(), handle), handle


def test_a_pod_without_victims_passes() -> None:
    plugin, _ = plugin_of(FakePods())
    assert plugin.pre_enqueue(PREEMPTOR) is None


def test_a_preemptor_is_held_back_until_its_victims_are_gone() -> None:
    victims = running(make_pod("a"), make_pod("b"))
    plugin, handle = plugin_of(FakePods(victims))
    plugin.executor.start(Preemptor.of_pod(PREEMPTOR), "n1", victims)
    status = plugin.pre_enqueue(PREEMPTOR)
    assert status is not None
    assert (status.code, status.reasons) == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON_UNDER_WAY,))
    assert len(plugin.executor) == 1
    handle.finish()
    assert plugin.pre_enqueue(PREEMPTOR) is None
    assert len(plugin.executor) == 0


def test_other_pods_pass_meanwhile() -> None:
    victims = running(make_pod("a"))
    plugin, handle = plugin_of(FakePods(victims))
    plugin.executor.start(Preemptor.of_pod(PREEMPTOR), "n1", victims)
    assert plugin.pre_enqueue(make_pod("other").info()) is None
    handle.finish()


def test_once_only_the_last_victim_is_left_its_deletion_counts_and_not_the_end_of_the_work() -> None:
    async def story() -> None:
        victims = running(make_pod("last"))
        pods = FakePods(victims)
        pods.gate = asyncio.Event()
        plugin, handle = plugin_of(pods)
        plugin.executor.start(Preemptor.of_pod(PREEMPTOR), "n1", victims)
        work = asyncio.create_task(handle.work.pop())
        await asyncio.sleep(0)
        assert plugin.pre_enqueue(PREEMPTOR) is not None
        pod = pods.pods["default/last"]
        terminating = msgspec.structs.replace(pod.metadata, deletion_timestamp="2030-01-01T00:00:30Z")
        pods.pods["default/last"] = msgspec.structs.replace(pod, metadata=terminating)
        assert plugin.pre_enqueue(PREEMPTOR) is None
        del pods.pods["default/last"]
        assert plugin.pre_enqueue(PREEMPTOR) is None
        pods.gate.set()
        await work

    asyncio.run(story())


def test_without_the_feature_no_pod_is_gated() -> None:
    victims = running(make_pod("a"))
    plugin, handle = plugin_of(FakePods(victims), gate=False)
    plugin.executor.start(Preemptor.of_pod(PREEMPTOR), "n1", victims)
    assert plugin.pre_enqueue(PREEMPTOR) is None
    assert plugin.events_to_register() == ()
    handle.finish()


def test_a_deletion_lets_a_pod_be_examined_again_but_other_plugins_say_whether_it_helps() -> None:
    plugin, _ = plugin_of(FakePods())
    (registered,) = plugin.events_to_register()
    assert (registered.event.resource, registered.event.action) == (EventResource.POD, ActionType.DELETE)
    assert registered.hint is not None
    assert registered.hint(make_pod("waiting").obj(), make_pod("gone").obj(), None) is QueueingHint.SKIP
