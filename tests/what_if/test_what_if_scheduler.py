# SPDX-License-Identifier: Apache-2.0
"""A scheduler without I/O answers questions, and each answer can be taken back."""

from __future__ import annotations

import pytest

from steersman.base.clock import ManualClock
from steersman.config import load
from steersman.framework.pod_info import PodInfo
from steersman.scheduler.assembly import SchedulerOptions
from steersman.scheduler.cycle.decision import Decision, Dropped, Scheduled, Unschedulable
from steersman.scheduler.what_if import WhatIfScheduler, isolated_scheduler
from steersman.testing import PodBuilder, make_node, make_pod

NO_SCORES = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {score: {disabled: [{name: "*"}]}}
"""


def what_if(*, scalar: bool = False, configuration: str = "", nodes: int = 3) -> WhatIfScheduler:
    options = (
        SchedulerOptions(load(configuration, "test"), scalar=scalar)
        if configuration
        else SchedulerOptions(scalar=scalar)
    )
    scheduler = WhatIfScheduler(isolated_scheduler(options, ManualClock()))
    for number in range(1, nodes + 1):
        scheduler.change(make_node(f"n{number}").capacity(cpu=str(number), pods=10).obj())
    return scheduler


def pending(scheduler: WhatIfScheduler, pod: PodBuilder) -> PodInfo:
    obj = pod.obj()
    scheduler.change(obj)
    return scheduler.info(obj)


def node_of(decision: Decision) -> str:
    assert isinstance(decision, Scheduled), decision
    return decision.node


@pytest.mark.parametrize("scalar", [False, True])
def test_a_decision_is_restricted_to_the_given_nodes(scalar: bool) -> None:
    scheduler = what_if(scalar=scalar)
    assert node_of(scheduler.decide(pending(scheduler, make_pod("a").req(cpu="1")), nodes=["n1"])) == "n1"
    assert node_of(scheduler.decide(pending(scheduler, make_pod("b").req(cpu="1")), nodes=["n1", "n2"])) == "n2"


@pytest.mark.parametrize("scalar", [False, True])
@pytest.mark.parametrize("nodes", [[], ["n1"], ["gone"]])
def test_a_pod_that_fits_on_none_of_the_given_nodes_is_unschedulable(scalar: bool, nodes: list[str]) -> None:
    scheduler = what_if(scalar=scalar)
    pod = pending(scheduler, make_pod("a").req(cpu="2"))
    assert isinstance(scheduler.decide(pod, nodes=nodes, post_filter=False), Unschedulable)
    assert not scheduler.cache.is_assumed(pod.uid)


def test_a_restricted_pod_that_fits_nowhere_has_the_message_of_all_nodes() -> None:
    scheduler = what_if()
    pod = pending(scheduler, make_pod("a").req(cpu="4"))
    restricted, free = scheduler.decide(pod, nodes=["n1"]), scheduler.decide(pod)
    assert isinstance(restricted, Unschedulable)
    assert isinstance(free, Unschedulable)
    assert restricted.message == free.message


def test_without_post_filter_no_preemption_is_decided() -> None:
    scheduler = what_if(nodes=1)
    scheduler.change(make_pod("low").req(cpu="1").node("n1").priority(1).obj())
    pod = pending(scheduler, make_pod("high").req(cpu="1").priority(10))
    plain, with_preemption = scheduler.decide(pod, post_filter=False), scheduler.decide(pod)
    assert isinstance(plain, Unschedulable)
    assert plain.post_filter is None
    assert isinstance(with_preemption, Unschedulable)
    assert with_preemption.post_filter is not None
    assert with_preemption.nomination is not None
    assert with_preemption.nomination.node == "n1"


def test_a_decision_takes_room_until_it_is_undone() -> None:
    scheduler = what_if(nodes=1)
    first, second = (pending(scheduler, make_pod(name).req(cpu="1")) for name in ("a", "b"))
    decision = scheduler.decide(first)
    assert isinstance(decision, Scheduled)
    assert isinstance(scheduler.decide(second, post_filter=False), Unschedulable)
    scheduler.undo(decision)
    assert node_of(scheduler.decide(second)) == "n1"


def test_assumed_pods_are_left_out_in_a_block_only() -> None:
    scheduler = what_if(nodes=1)
    first, second = (pending(scheduler, make_pod(name).req(cpu="1")) for name in ("a", "b"))
    scheduler.assume(first, "n1")
    with scheduler.without([(first, "n1")]):
        assert scheduler.evaluate(second).feasible() == ["n1"]
    assert not scheduler.evaluate(second).feasible()
    scheduler.forget(first)
    assert scheduler.evaluate(second).feasible() == ["n1"]


@pytest.mark.parametrize("scalar", [False, True])
def test_equally_good_nodes_are_all_best(scalar: bool) -> None:
    scheduler = what_if(scalar=scalar, configuration=NO_SCORES)
    evaluation = scheduler.evaluate(pending(scheduler, make_pod("a").req(cpu="2")))
    assert sorted(evaluation.best()) == ["n2", "n3"]


def test_no_node_is_best_for_a_pod_that_fits_nowhere() -> None:
    scheduler = what_if()
    assert not scheduler.evaluate(pending(scheduler, make_pod("a").req(cpu="9"))).best()


def test_pods_that_are_decided_together_go_where_they_go_one_by_one() -> None:
    together, one_by_one = what_if(), what_if()
    builders = [make_pod(f"p{n}").req(cpu="1" if n % 4 else "2") for n in range(8)]
    batches = together.decide_all([pending(together, pod) for pod in builders])
    found = [getattr(decision, "node", "") for batch in batches for decision in batch]
    singles = [one_by_one.decide(pending(one_by_one, pod), post_filter=False) for pod in builders]
    assert found == [getattr(decision, "node", "") for decision in singles]
    assert "" in found


def test_a_deleted_object_is_gone() -> None:
    scheduler = what_if(nodes=1)
    blocking = make_pod("a").req(cpu="1").node("n1").obj()
    scheduler.change(blocking)
    pod = pending(scheduler, make_pod("b").req(cpu="1"))
    assert not scheduler.evaluate(pod).feasible()
    scheduler.delete(blocking)
    assert scheduler.evaluate(pod).feasible() == ["n1"]


def test_the_gate_of_a_pod_is_told_and_a_terminating_pod_is_dropped() -> None:
    scheduler = what_if()
    gated = scheduler.gate(pending(scheduler, make_pod("a").gate("wait")))
    assert gated is not None
    assert gated.plugin == "SchedulingGates"
    assert scheduler.gate(pending(scheduler, make_pod("b"))) is None
    assert isinstance(scheduler.decide(pending(scheduler, make_pod("c").terminating())), Dropped)
