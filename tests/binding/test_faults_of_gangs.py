# SPDX-License-Identifier: Apache-2.0
"""Whatever happens while the members of a gang are on their way to their nodes: nothing leaks, no member is lost or bound
twice, and a gang that is complete gets its nodes in the end."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, strategies as st
from tests.binding.cluster import Cluster, Point
from tests.binding.test_faults_at_every_point import (
    FAULTS,
    PODS,
    Fault,
    Injection,
    points,
    verify_rest,
)
from tests.equivalence.examples import examples

from steersman import api
from steersman.config import FeatureGates
from steersman.testing import make_pod_group

GATES = FeatureGates({"GenericWorkload": True}, "1.37")
GROUP = "gang"


def delete_group(cluster: Cluster, _pod: object) -> None:
    if cluster.store.find(api.PodGroup, f"default/{GROUP}") is not None:
        cluster.store.delete(api.PodGroup, f"default/{GROUP}")


def raise_the_count(cluster: Cluster, _pod: object) -> None:
    """More members than there are; those on their way are not called back."""
    group = cluster.store.find(api.PodGroup, f"default/{GROUP}")
    if group is not None:
        changed = make_pod_group(GROUP).gang(len(PODS) + 1).obj()
        cluster.store.update(msgspec.structs.replace(group, spec=changed.spec))


GANG_FAULTS: tuple[Fault, ...] = (*FAULTS, delete_group, raise_the_count)


def start(plan: dict[tuple[str, Point], Fault]) -> Injection:
    injection = Injection(plan, gates=GATES)
    injection.cluster.group = GROUP
    injection.cluster.store.create(make_pod_group(GROUP).gang(len(PODS)).obj())
    for name in PODS:
        injection.cluster.create_pod(name)
    return injection


def verify_gang(cluster: Cluster) -> None:
    """True once everything has come to its end: the group is complete and bound, or has lost what it needs."""
    members = [pod for pod in cluster.store.objects(api.Pod).values() if pod.metadata.deletion_timestamp is None]
    group = cluster.store.find(api.PodGroup, f"default/{GROUP}")
    gang = None if group is None else group.spec.scheduling_policy.gang
    if gang is not None and len(members) >= gang.min_count:
        verify_rest(cluster)
        assert (GROUP, "True") in cluster.writer.group_conditions
        return
    scheduler = cluster.scheduler
    scheduler.cache.validate_state()
    scheduler.queue.validate_state()
    assert not cluster.tasks
    assert len(scheduler.waiting_pods) == 0
    assert scheduler.cache.assumed_count == 0
    assert scheduler.queue.statistics().in_flight == 0
    for pod in members:
        assert bool(pod.spec.node_name) != (scheduler.queue.get(api.key(pod)) is not None)
    assert len(set(cluster.writer.bound)) == len(cluster.writer.bound), "bound twice"


@points
@pytest.mark.parametrize("fault", GANG_FAULTS, ids=lambda fault: fault.__name__)
def test_one_fault_at_one_point_leaves_nothing_behind(point: Point, fault: Fault) -> None:
    injection = start({("b", point): fault})
    injection.cluster.settle()
    assert not injection.plan, "the member never got to that point"
    verify_gang(injection.cluster)


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(PODS), st.sampled_from(list(Point))), st.sampled_from(GANG_FAULTS), max_size=8
    ),
)
@examples(20)
def test_any_number_of_faults_leaves_nothing_behind(plan: dict[tuple[str, Point], Fault]) -> None:
    injection = start(dict(plan))
    injection.cluster.settle()
    verify_gang(injection.cluster)
    Cluster.opened.clear()


def test_a_host_that_shuts_down_before_the_first_step_gets_all_members_back() -> None:
    cluster = start({}).cluster
    assert cluster.scheduler.schedule_one() is not None
    cluster.tasks.close()
    assert cluster.scheduler.cache.pod_count == 0
    assert cluster.reserved == set()
    assert len(cluster.scheduler.waiting_pods) == 0
    assert all(cluster.scheduler.queue.get(f"default/{name}") for name in PODS)
    assert cluster.writer.failures == []
    cluster.scheduler.cache.validate_state()
    cluster.scheduler.queue.validate_state()
