# SPDX-License-Identifier: Apache-2.0
"""Carrying out the preemption of a group: its texts, and how its members are held back."""

from __future__ import annotations

import asyncio

from tests.plugins.handles import FakeGates
from tests.preemption.scheduler_pods import FakePods, FakePostFilterHandle, running

from steersman.config import DefaultPreemptionArgs, Rule
from steersman.framework import (
    ActionType,
    ClusterEvent,
    Code,
    EventResource,
    GroupKey,
    GroupKind,
    PodGroupInfo,
    PodInfo,
)
from steersman.scheduler.preemption import DefaultPreemption, Preemptor
from steersman.scheduler.preemption.default_preemption import CLUSTER, REASON_GROUP_UNDER_WAY
from steersman.scheduler.runtime.waiting_pods import PodAtPermit
from steersman.scheduler.state.pod_groups import PodGroupTable
from steersman.testing import make_composite_pod_group, make_pod, make_pod_group

GANG = make_pod_group("gang").priority(100).obj()
MEMBERS = [make_pod(name).in_group("gang").scheduler("my-scheduler").info() for name in ("m1", "m2")]
DELETED = ClusterEvent(EventResource.POD, ActionType.DELETE)


def gang() -> PodGroupInfo:
    return PodGroupInfo(GroupKey(GroupKind.POD_GROUP, "default", "gang"), GANG, [], MEMBERS)


class Cluster:
    def __init__(self, victims: list[PodInfo], *, activates: bool = True, is_tree: bool = False) -> None:
        self.victims = victims
        self.pods = FakePods(victims)
        self.groups = PodGroupTable()
        leaf = make_pod_group("gang").priority(100)
        self.groups.set_group((leaf.parent("root") if is_tree else leaf).obj())
        for member in MEMBERS:
            self.groups.put(member.pod)
        self.handle = FakePostFilterHandle(self.pods)
        self.handle.pod_groups = self.groups
        rule = Rule.PREEMPTION_IN_MEMORY_ACTIVATES
        gates = {"SchedulerAsyncPreemption": True, "CompositePodGroup": is_tree, rule: activates}
        self.handle.gates = FakeGates(gates)
        self.plugin = DefaultPreemption(DefaultPreemptionArgs(), self.handle)

    def start(self, group: PodGroupInfo | None = None) -> None:
        self.plugin.executor.start(Preemptor.of_group(group or gang()), CLUSTER, self.victims)

    def reason(self, pod: PodInfo) -> str:
        status = self.plugin.pre_enqueue(pod)
        return "" if status is None else status.message


def test_event_and_condition_name_the_group() -> None:
    cluster = Cluster(running(make_pod("victim")))
    cluster.start()
    cluster.handle.finish()
    event = f"Preempted by podgroup {GANG.metadata.uid} on node cluster"
    assert cluster.pods.story == ["mark victim", "delete victim", f"event on victim: {event}"]
    condition = cluster.pods.conditions["victim"]
    assert condition.message == "my-scheduler: preempting to accommodate a higher priority podgroup"


def test_a_hierarchy_is_named_by_its_kind() -> None:
    root = make_composite_pod_group("root").obj()
    key = GroupKey(GroupKind.COMPOSITE, "default", "root")
    preemptor = Preemptor.of_group(PodGroupInfo(key, root, [gang()], []))
    assert (preemptor.kind, preemptor.uid, len(preemptor.pods)) == ("compositepodgroup", root.metadata.uid, 2)


def test_members_are_held_back_until_the_last_victim_is_gone() -> None:
    cluster = Cluster(running(make_pod("a"), make_pod("b")))
    cluster.start()
    late = make_pod("late").in_group("gang").info()
    cluster.groups.put(late.pod)
    status = cluster.plugin.pre_enqueue(MEMBERS[0])
    assert status is not None
    assert (status.code, status.message) == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, REASON_GROUP_UNDER_WAY)
    assert cluster.reason(late) == REASON_GROUP_UNDER_WAY
    assert cluster.reason(make_pod("single").info()) == ""
    assert cluster.reason(make_pod("other").in_group("other").info()) == ""
    cluster.handle.finish()
    assert cluster.reason(MEMBERS[0]) == ""
    released = cluster.plugin.ungated_pods(DELETED, cluster.victims[1].pod, None)
    assert {MEMBERS[1].uid, late.uid} <= set(released)


def test_the_deletion_of_the_last_victim_releases_the_members_at_once() -> None:
    async def main() -> None:
        cluster = Cluster(running(make_pod("victim")))
        cluster.pods.gate = asyncio.Event()
        cluster.start()
        work = asyncio.ensure_future(cluster.handle.work.pop())
        await asyncio.sleep(0)
        del cluster.pods.pods[cluster.victims[0].key]
        assert cluster.plugin.ungated_pods(DELETED, cluster.victims[0].pod, None) == {m.uid for m in MEMBERS}
        assert cluster.reason(MEMBERS[0]) == ""
        cluster.pods.gate.set()
        await work

    asyncio.run(main())


def test_members_of_a_tree_are_held_back_by_the_preemption_of_its_root() -> None:
    cluster = Cluster(running(make_pod("victim")), is_tree=True)
    root = make_composite_pod_group("root").obj()
    assert cluster.reason(MEMBERS[0]) == ""
    cluster.groups.set_group(root)
    key = GroupKey(GroupKind.COMPOSITE, "default", "root")
    cluster.start(PodGroupInfo(key, root, [gang()], []))
    assert cluster.reason(MEMBERS[0]) == REASON_GROUP_UNDER_WAY
    cluster.handle.finish()


def test_members_are_activated_after_a_failure() -> None:
    cluster = Cluster(running(make_pod("victim")))
    cluster.pods.refused.add(cluster.victims[0].key)
    cluster.start()
    cluster.handle.finish()
    assert cluster.pods.story[-1:] == ["activate m2"]
    assert cluster.reason(MEMBERS[0]) == ""


def test_members_are_activated_if_the_last_victim_was_not_bound_yet() -> None:
    """No deletion follows that would requeue them; v1.36 forgot this."""
    for activates, expected in ((True, ["activate m1", "activate m2"]), (False, [])):
        (victim,) = victims = running(make_pod("waiting"))
        cluster = Cluster(victims, activates=activates)
        cluster.pods.waiting_for_permission.add(PodAtPermit(victim, "n1", {"Gang": 10.0}))
        cluster.start()
        cluster.handle.finish()
        assert [entry for entry in cluster.pods.story if entry.startswith("activate")] == expected
