# SPDX-License-Identifier: Apache-2.0
"""Any tenant may create groups with very many members, deep trees and cycles, and change them all the time: nothing is lost,
plain pods get their nodes, and the work grows with the number of objects, not with its square.

Work is counted in calls, so that the result does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from tests.assembly.group_host import WITH_TREES, AnyBuilder, GroupHost, member, small_node
from tests.hostile.call_counts import calls_during

from steersman import api
from steersman.framework import GroupKey, GroupKind
from steersman.testing import PodBuilder, make_composite_pod_group, make_pod, make_pod_group

SMALL, LARGE = 100, 400
ABSURD = 2_000_000_000


def cluster() -> GroupHost:
    return GroupHost(*(small_node(f"n{index}", 64) for index in range(10)), gates=WITH_TREES)


def feed(host: GroupHost, builders: Iterable[AnyBuilder]) -> None:
    """Deliver objects as a watch does, without a store."""
    for builder in builders:
        host.scheduler.ingest.changed(builder.obj())


def members(count: int, group: str = "group", cpu: str = "1m") -> list[PodBuilder]:
    return [member(f"m{index}", group, cpu) for index in range(count)]


def chain(depth: int, *, is_cycle: bool = False) -> list[AnyBuilder]:
    """A PodGroup `leaf` below composite groups, each the only child of the next one."""
    groups: list[AnyBuilder] = [make_pod_group("leaf").gang(1).parent("c0")]
    for index in range(depth):
        group = make_composite_pod_group(f"c{index}").gang(1)
        has_parent = is_cycle or index < depth - 1
        groups.append(group.parent(f"c{(index + 1) % depth}") if has_parent else group)
    return groups


def basic_group(count: int) -> Callable[[], object]:
    host = cluster()
    feed(host, [make_pod_group("group").basic()])
    return lambda: feed(host, members(count))


def gang_with_an_absurd_count(count: int) -> Callable[[], object]:
    host = cluster()
    feed(host, [make_pod_group("group").gang(ABSURD)])
    return lambda: feed(host, members(count))


def members_before_their_group(count: int) -> Callable[[], object]:
    host = cluster()
    return lambda: feed(host, [*members(count), make_pod_group("group").gang(count)])


def changes_of_gated_members(count: int) -> Callable[[], object]:
    host = cluster()
    feed(host, [make_pod_group("group").gang(ABSURD), *members(count)])
    return lambda: feed(host, [pod.label("changed", "yes") for pod in members(count)])


def changes_of_a_group(count: int) -> Callable[[], object]:
    host = cluster()
    feed(host, [make_pod_group("group").gang(ABSURD), *members(count)])
    return lambda: feed(host, [make_pod_group("group").gang(ABSURD).label("change", str(n)) for n in range(20)])


def deletions_of_members(count: int) -> Callable[[], object]:
    host = cluster()
    pods = [pod.obj() for pod in members(count)]
    feed(host, [make_pod_group("group").gang(ABSURD)])
    for pod in pods:
        host.scheduler.ingest.changed(pod)

    def delete() -> None:
        for pod in pods:
            host.scheduler.ingest.deleted(pod)

    return delete


def groups_below_a_root_that_appears(count: int) -> Callable[[], object]:
    host = cluster()
    feed(host, [make_pod_group(f"g{index}").gang(1).parent("root") for index in range(count)])
    feed(host, [member(f"m{index}", f"g{index}") for index in range(count)])
    return lambda: feed(host, [make_composite_pod_group("root").gang(count)])


def deep_tree(count: int) -> Callable[[], object]:
    host = cluster()
    feed(host, chain(count))
    return lambda: feed(host, [member("m", "leaf")])


def cycle_of_parents(count: int) -> Callable[[], object]:
    host = cluster()
    feed(host, chain(count, is_cycle=True))
    return lambda: feed(host, [member("m", "leaf")])


@pytest.mark.parametrize(
    "case",
    [
        basic_group,
        gang_with_an_absurd_count,
        members_before_their_group,
        changes_of_gated_members,
        changes_of_a_group,
        deletions_of_members,
        groups_below_a_root_that_appears,
        deep_tree,
        cycle_of_parents,
    ],
    ids=lambda case: case.__name__,
)
def test_the_work_grows_no_faster_than_the_number_of_objects(case: Callable[[int], Callable[[], object]]) -> None:
    assert calls_during(case(LARGE)) < 1.4 * LARGE / SMALL * calls_during(case(SMALL))


@pytest.mark.parametrize(
    "groups",
    [
        [],
        [make_pod_group("leaf").gang(ABSURD)],
        chain(1000),
        chain(1000, is_cycle=True),
        [make_pod_group("leaf").gang(1).parent("leaf")],
        [make_pod_group("leaf").gang(1).parent("missing")],
    ],
    ids=["no group", "absurd count", "depth 1000", "cycle of 1000", "its own name", "missing parent"],
)
def test_a_group_that_cannot_be_scheduled_keeps_its_members_and_delays_no_other_pod(groups: list[AnyBuilder]) -> None:
    host = cluster()
    host.create(*groups, member("m1", "leaf"), member("m2", "leaf"), make_pod("plain").req(cpu="1"))
    host.run()
    assert set(host.nodes) == {"plain"}
    assert host.scheduler.queue.get("default/m1") is not None
    assert host.scheduler.queue.get("default/m2") is not None
    assert host.assumed == 0


def test_members_of_another_namespace_do_not_count() -> None:
    host = cluster()
    host.create(make_pod_group("group").gang(2), member("m1", "group"))
    host.create(make_pod("m2").namespace("other").req(cpu="1").in_group("group"), make_pod("plain").req(cpu="1"))
    host.run()
    assert set(host.nodes) == {"plain"}
    host.create(member("m3", "group"))
    host.run()
    assert set(host.nodes) == {"plain", "m1", "m3"}


def test_a_member_that_leaves_its_gates_late_lets_the_group_start() -> None:
    """Members that have passed PreEnqueue are not checked again, but the gate of one still holds all."""
    host = cluster()
    host.create(make_pod_group("group").gang(3), member("m1", "group"), member("m2", "group"))
    host.create(member("m3", "group").gate("wait"), member("m4", "group").gate("wait"))
    host.run()
    assert not host.nodes
    host.create(member("m4", "group"))
    host.run()
    assert not host.nodes
    host.create(member("m3", "group"))
    host.run()
    assert set(host.nodes) == {"m1", "m2", "m3", "m4"}


def test_a_group_that_is_deleted_and_created_again_and_again_loses_no_member() -> None:
    host = cluster()
    host.create(member("m1", "group"), member("m2", "group"))
    for count in range(20):
        host.create(make_pod_group("group").gang(3 + count % 2))
        host.run()
        host.delete(api.PodGroup, "default/group")
        host.run()
        assert host.scheduler.queue.get("default/m1") is not None
    host.create(make_pod_group("group").gang(2))
    host.run()
    assert set(host.nodes) == {"m1", "m2"}
    assert host.scheduler.cache.pod_groups is not None
    assert host.scheduler.cache.pod_groups.state("default", "group").count == 2
    assert host.scheduler.cache.pod_groups.root(GroupKey(GroupKind.POD_GROUP, "default", "group")) is not None
