# SPDX-License-Identifier: Apache-2.0
"""Binding a pod to a node."""

from __future__ import annotations

import msgspec
import pytest
from tests.embedded.stores import START_TEXT, Recorder, bare_pod, clock_of, make_store, pod

from steersman import api
from steersman.cluster.store import Conflict, Invalid, NotFound, Pods
from steersman.testing import make_node, make_pod

SCHEDULED = api.Condition(type="PodScheduled", status="True", last_transition_time=START_TEXT)


def test_a_bound_pod_is_on_its_node_and_scheduled() -> None:
    store = make_store(make_pod("web"))
    before = pod(store)
    bound = Pods(store).bind("default", "web", before.metadata.uid, "n1")
    assert pod(store) is bound
    assert bound.spec == msgspec.structs.replace(before.spec, node_name="n1")
    assert bound.status == msgspec.structs.replace(before.status, conditions=(SCHEDULED,))
    assert int(bound.metadata.resource_version) == int(before.metadata.resource_version) + 1


def test_listeners_hear_of_a_binding() -> None:
    store, heard = make_store(make_pod("web")), Recorder()
    before = pod(store)
    store.subscribe(heard, (api.Pod,))
    bound = Pods(store).bind("default", "web", "", "n1")
    assert heard.seen[-1] == ("MODIFIED", before, bound)


def test_a_binding_is_no_new_generation() -> None:
    store = make_store(make_pod("web"))
    assert Pods(store).bind("default", "web", "", "n1").metadata.generation == 1


def test_the_condition_that_the_pod_does_not_fit_gives_way() -> None:
    store = make_store(make_pod("web").condition("Other", "True").condition("PodScheduled", "False", reason="No"))
    clock_of(store).advance(60)
    conditions = Pods(store).bind("default", "web", "", "n1").status.conditions
    assert [(c.type, c.status, c.reason) for c in conditions] == [("Other", "True", ""), ("PodScheduled", "True", "")]
    assert conditions[1].last_transition_time == "2031-01-01T00:01:00Z"


def test_a_binding_ends_the_nomination() -> None:
    store = make_store(make_pod("web").nominated("n2"))
    assert Pods(store).bind("default", "web", "", "n1").status.nominated_node_name == ""


def test_the_node_need_not_exist() -> None:
    store = make_store(make_pod("web"))
    assert Pods(store).bind("default", "web", "", "nowhere").spec.node_name == "nowhere"


def test_a_pod_that_does_not_exist_cannot_be_bound() -> None:
    with pytest.raises(NotFound, match='pods "web" not found'):
        Pods(make_store()).bind("default", "web", "", "n1")


def test_a_pod_that_was_recreated_is_not_bound_for_the_old_one() -> None:
    store = make_store(make_pod("web"))
    first = pod(store).metadata.uid
    store.delete(api.Pod, "default/web")
    store.create(bare_pod())
    with pytest.raises(Conflict, match=f"UID in precondition: {first}"):
        Pods(store).bind("default", "web", first, "n1")


@pytest.mark.parametrize("node", ["n1", "n2"])
def test_a_bound_pod_cannot_be_bound_again(node: str) -> None:
    store = make_store(make_pod("web").node("n1"))
    with pytest.raises(Conflict, match='pod web is already assigned to node "n1"') as refusal:
        Pods(store).bind("default", "web", "", node)
    assert refusal.value.message.startswith('Operation cannot be fulfilled on pods/binding "web"')


def test_a_pod_that_is_being_deleted_cannot_be_bound() -> None:
    store = make_store(make_pod("web").terminating())
    with pytest.raises(Conflict, match="pod web is being deleted, cannot be assigned to a host"):
        Pods(store).bind("default", "web", "", "n1")


def test_a_gated_pod_cannot_be_bound() -> None:
    store = make_store(make_pod("web").gate("wait"))
    with pytest.raises(Conflict, match=r"pod web has non-empty \.spec\.schedulingGates"):
        Pods(store).bind("default", "web", "", "n1")


def test_a_binding_names_a_node() -> None:
    store = make_store(make_pod("web"))
    with pytest.raises(Invalid, match=r"target\.name: Required value"):
        Pods(store).bind("default", "web", "", "")


def test_a_refused_binding_writes_nothing() -> None:
    store = make_store(make_pod("web").node("n1"))
    version = store.resource_version
    with pytest.raises(Conflict):
        Pods(store).bind("default", "web", "", "n2")
    assert store.resource_version == version


ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


def test_a_bound_pod_gets_zone_and_region_of_its_node_if_wanted() -> None:
    node = make_node("n1").label(ZONE, "z1").label(REGION, "r1").label("disk", "ssd")
    store = make_store(make_pod("web").label("app", "web").label(ZONE, "wrong"), node)
    bound = Pods(store, topology_labels=True).bind("default", "web", "", "n1")
    assert bound.metadata.labels == {"app": "web", ZONE: "z1", REGION: "r1"}


def test_a_node_without_topology_gives_no_labels() -> None:
    store = make_store(make_pod("a"), make_pod("b"), make_node("n1"))
    pods = Pods(store, topology_labels=True)
    assert pods.bind("default", "a", "", "n1").metadata.labels == {}
    assert pods.bind("default", "b", "", "nowhere").metadata.labels == {}
