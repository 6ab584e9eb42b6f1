# SPDX-License-Identifier: Apache-2.0
"""The status of disruption budgets."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from tests.controllers.batch_cluster import TestCluster, owner_reference
from tests.embedded.stores import raw, with_meta, with_status

from steersman import api
from steersman.api.selectors import from_label_selector
from steersman.cluster.controllers.disruption import DisruptionController, go_selector
from steersman.cluster.store import TooManyRequests, evict
from steersman.testing import make_pod

APP = {"app": "web"}
READY = (api.Condition(type="Ready", status="True"),)


def _cluster() -> TestCluster:
    cluster = TestCluster()
    DisruptionController(cluster.cluster)
    return cluster


def _budget(cluster: TestCluster, **spec: object) -> None:
    selector = api.LabelSelector(match_labels=APP)
    fields = api.PodDisruptionBudgetSpec(selector=selector)
    fields = msgspec.structs.replace(fields, **spec)
    cluster.create(api.PodDisruptionBudget(metadata=api.ObjectMeta(name="web"), spec=fields))


def _pods(cluster: TestCluster, count: int, owner: api.Object | None = None, *, ready: bool = True) -> None:
    references = () if owner is None else (owner_reference(owner),)
    first = len(cluster.names(api.Pod))
    for index in range(first, first + count):
        pod = raw(make_pod(f"web-{index}").label("app", "web").node("n1").phase("Running"))
        pod = with_meta(with_status(pod, conditions=READY if ready else ()), owner_references=references)
        cluster.create(pod)


def _status(cluster: TestCluster) -> api.PodDisruptionBudgetStatus:
    return cluster.store.get(api.PodDisruptionBudget, "default/web").status


def _counts(cluster: TestCluster) -> tuple[int, int, int, int]:
    """expected, healthy, desired, allowed"""
    status = _status(cluster)
    return status.expected_pods, status.current_healthy, status.desired_healthy, status.disruptions_allowed


def _deployment(cluster: TestCluster, replicas: int) -> api.ReplicaSet:
    """The ReplicaSet of a Deployment that wants so many replicas."""
    meta = api.ObjectMeta(name="web")
    owner = cluster.create(api.Deployment(metadata=meta, spec=api.DeploymentSpec(replicas=replicas)))
    owned = api.ObjectMeta(name="web-1", owner_references=(owner_reference(owner),))
    return cluster.create(api.ReplicaSet(metadata=owned, spec=api.ReplicaSetSpec(replicas=1)))


def test_a_number_that_must_be_available() -> None:
    cluster = _cluster()
    _pods(cluster, 3)
    _budget(cluster, min_available=2)
    cluster.run()
    assert _counts(cluster) == (3, 3, 2, 1)
    condition = _status(cluster).conditions[0]
    assert (condition.type, condition.status, condition.reason) == ("DisruptionAllowed", "True", "SufficientPods")
    assert _status(cluster).observed_generation == 1


def test_shares_are_of_what_the_deployment_wants() -> None:
    cluster = _cluster()
    _pods(cluster, 3, _deployment(cluster, replicas=10))
    _budget(cluster, min_available="25%")
    cluster.run()
    assert _counts(cluster) == (10, 3, 3, 0)
    assert _status(cluster).conditions[0].reason == "InsufficientPods"


def test_a_number_that_may_be_unavailable() -> None:
    cluster = _cluster()
    _pods(cluster, 4, _deployment(cluster, replicas=4))
    _budget(cluster, max_unavailable="30%")
    cluster.run()
    assert _counts(cluster) == (4, 4, 2, 2)


def test_pods_that_are_not_ready_are_not_healthy() -> None:
    cluster = _cluster()
    _pods(cluster, 2)
    _pods(cluster, 2, ready=False)
    _budget(cluster, min_available=1)
    cluster.run()
    assert _counts(cluster) == (4, 2, 1, 1)


def test_the_status_follows_pods_and_workloads() -> None:
    cluster = _cluster()
    owner = _deployment(cluster, replicas=2)
    _budget(cluster, max_unavailable=1)
    cluster.run()
    assert _counts(cluster) == (0, 0, 0, 0)
    assert set(cluster.reasons) == {"NoPods"}
    _pods(cluster, 2, owner)
    cluster.run()
    assert _counts(cluster) == (2, 2, 1, 1)
    deployment = cluster.store.get(api.Deployment, "default/web")
    cluster.store.update(msgspec.structs.replace(deployment, spec=msgspec.structs.replace(deployment.spec, replicas=5)))
    cluster.run()
    assert _counts(cluster) == (5, 2, 4, 0)


def test_an_eviction_is_expected_to_happen_for_two_minutes() -> None:
    cluster = _cluster()
    _pods(cluster, 3)
    _budget(cluster, min_available=2)
    cluster.run()
    evict(cluster.store, "default/web-0", grace_period_seconds=30)
    with pytest.raises(TooManyRequests):
        evict(cluster.store, "default/web-1")
    cluster.run(1)
    assert _counts(cluster) == (3, 2, 2, 0)
    assert _status(cluster).disrupted_pods == {}


def test_a_granted_eviction_without_a_deletion_is_forgotten() -> None:
    cluster = _cluster()
    _pods(cluster, 3)
    _budget(cluster, min_available=2)
    cluster.run()
    budget = cluster.store.get(api.PodDisruptionBudget, "default/web")
    granted = msgspec.structs.replace(budget.status, disrupted_pods={"web-0": cluster.store.timestamp()})
    cluster.store.update_status(msgspec.structs.replace(budget, status=granted))
    cluster.run(100)
    assert _counts(cluster) == (3, 2, 2, 0)
    cluster.run(130)
    assert _counts(cluster) == (3, 3, 2, 1)
    assert cluster.reasons == ["NotDeleted"]


def test_pods_of_a_kind_without_scale_cannot_be_counted() -> None:
    cluster = _cluster()
    owner = cluster.create(api.DaemonSet(metadata=api.ObjectMeta(name="agent")))
    _pods(cluster, 2, owner)
    _budget(cluster, max_unavailable=1)
    cluster.run()
    condition = _status(cluster).conditions[0]
    assert (condition.reason, condition.message) == (
        "SyncFailed",
        "daemonsets.apps does not implement the scale subresource",
    )
    assert _status(cluster).disruptions_allowed == 0


def test_pods_of_an_owner_that_is_not_there_are_what_is_expected() -> None:
    cluster = _cluster()
    _pods(cluster, 3, api.ReplicaSet(metadata=api.ObjectMeta(name="gone", uid="gone")))
    _budget(cluster, max_unavailable=1)
    cluster.run()
    assert _counts(cluster) == (3, 3, 2, 1)


def test_unmanaged_pods_are_mentioned_and_not_expected() -> None:
    cluster = _cluster()
    _pods(cluster, 2)
    _budget(cluster, max_unavailable=1)
    cluster.run()
    assert _counts(cluster) == (0, 2, 0, 0)
    (event,) = set(cluster.events)
    assert event.reason == "UnmanagedPods"
    assert "(selector: &LabelSelector{MatchLabels:map[string]string{app: web,}," in event.message


def test_a_selector_is_written_as_go_writes_it() -> None:
    requirement = api.LabelSelectorRequirement(key="tier", operator="In", values=("a", "b"))
    selector = api.LabelSelector(match_expressions=(requirement,))
    assert go_selector(selector) == (
        "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{"
        "LabelSelectorRequirement{Key:tier,Operator:In,Values:[a b],},},}"
    )


def test_a_pod_is_not_said_to_be_disrupted_for_ever() -> None:
    cluster = _cluster()
    _pods(cluster, 1)
    pod = cluster.store.get(api.Pod, "default/web-0")
    target = api.Condition(
        type="DisruptionTarget",
        status="True",
        reason="PreemptionByScheduler",
        last_transition_time=cluster.store.timestamp(),
    )
    cluster.store.update_status(with_status(pod, conditions=(*READY, target)))
    cluster.run(119)
    assert cluster.store.get(api.Pod, "default/web-0").status.conditions[-1].status == "True"
    cluster.run(120)
    assert cluster.store.get(api.Pod, "default/web-0").status.conditions[-1].status == "False"


@pytest.mark.parametrize("case", range(5))
def test_budgets_count_exactly_the_pods_that_their_selectors_match(case: int) -> None:
    random, cluster = Random(case), _cluster()
    for number in range(8):
        labels = {name: random.choice("xy") for name in random.sample(("app", "tier", "zone"), random.randint(0, 2))}
        expression = api.LabelSelectorRequirement(key="app", operator="Exists")
        selector = api.LabelSelector(match_labels=labels, match_expressions=() if labels else (expression,))
        spec = api.PodDisruptionBudgetSpec(selector=selector, min_available=1)
        cluster.create(api.PodDisruptionBudget(metadata=api.ObjectMeta(name=f"b{number}"), spec=spec))
    for number in range(20):
        pod = make_pod(f"p{number}").node("n1").phase("Running")
        for name in random.sample(("app", "tier", "zone"), random.randint(0, 3)):
            pod = pod.label(name, random.choice("xy"))
        cluster.create(with_status(raw(pod), conditions=READY))
    for stored in random.sample(list(cluster.store.objects(api.Pod).values()), 8):
        if random.random() < 0.5:
            cluster.store.update(with_meta(stored, labels={"app": "x", "tier": random.choice("xy")}))
        else:
            cluster.store.delete(api.Pod, api.key(stored))
    cluster.run()
    pods = cluster.store.objects(api.Pod).values()
    for budget in cluster.store.objects(api.PodDisruptionBudget).values():
        matches = from_label_selector(budget.spec.selector).matches
        assert budget.status.expected_pods == sum(matches(each.metadata.labels) for each in pods)
