# SPDX-License-Identifier: Apache-2.0
"""Patches of a pod's status: conditions by type, and the nominated node."""

from __future__ import annotations

import pytest
from tests.embedded.stores import START_TEXT, clock_of, make_store, pod

from steersman import api
from steersman.cluster.store import Conflict, NotFound, Pods
from steersman.testing import make_pod

UNSCHEDULABLE = api.Condition(type="PodScheduled", status="False", reason="Unschedulable", message="0/3 nodes")
LATER = "2031-01-01T00:01:00Z"


def test_a_new_condition_is_added_with_the_time() -> None:
    store = make_store(make_pod("web").condition("Other", "True"))
    patched = Pods(store).patch_status("default/web", condition=UNSCHEDULABLE)
    assert [c.type for c in patched.status.conditions] == ["Other", "PodScheduled"]
    assert patched.status.conditions[1].message == "0/3 nodes"
    assert patched.status.conditions[1].last_transition_time == START_TEXT


def test_a_condition_of_the_same_type_is_replaced_in_its_place() -> None:
    store = make_store(make_pod("web").condition("PodScheduled", "False", reason="Old").condition("Other", "True"))
    patched = Pods(store).patch_status("default/web", condition=UNSCHEDULABLE)
    assert [(c.type, c.reason) for c in patched.status.conditions] == [("PodScheduled", "Unschedulable"), ("Other", "")]


def test_the_time_of_a_condition_is_that_of_its_last_change_of_status() -> None:
    store = make_store(make_pod("web"))
    pods = Pods(store)
    pods.patch_status("default/web", condition=UNSCHEDULABLE)
    clock_of(store).advance(60)
    other = api.Condition(type="PodScheduled", status="False", reason="Unschedulable", message="0/4 nodes")
    assert pods.patch_status("default/web", condition=other).status.conditions[0].last_transition_time == START_TEXT
    scheduled = api.Condition(type="PodScheduled", status="True")
    assert pods.patch_status("default/web", condition=scheduled).status.conditions[0].last_transition_time == LATER


def test_a_condition_may_bring_its_own_time() -> None:
    store = make_store(make_pod("web"))
    timed = api.Condition(type="Ready", status="True", last_transition_time=LATER)
    assert Pods(store).patch_status("default/web", condition=timed).status.conditions == (timed,)


def test_a_patch_that_changes_nothing_writes_nothing() -> None:
    store = make_store(make_pod("web"))
    pods = Pods(store)
    first = pods.patch_status("default/web", condition=UNSCHEDULABLE, nominated_node_name="n1")
    clock_of(store).advance(60)
    version = store.resource_version
    assert pods.patch_status("default/web", condition=UNSCHEDULABLE, nominated_node_name="n1") is first
    assert pods.patch_status("default/web") is first
    assert store.resource_version == version


def test_the_nominated_node_is_set_kept_and_cleared() -> None:
    store = make_store(make_pod("web"))
    pods = Pods(store)
    assert pods.patch_status("default/web", nominated_node_name="n1").status.nominated_node_name == "n1"
    assert pods.patch_status("default/web", condition=UNSCHEDULABLE).status.nominated_node_name == "n1"
    assert pods.patch_status("default/web", nominated_node_name="").status.nominated_node_name == ""


def test_a_patch_leaves_spec_and_generation_alone() -> None:
    store = make_store(make_pod("web").req(cpu="1"))
    before = pod(store)
    after = Pods(store).patch_status("default/web", condition=UNSCHEDULABLE)
    assert (after.spec, after.metadata.generation) == (before.spec, before.metadata.generation)


def test_a_patch_may_be_meant_for_one_uid_only() -> None:
    store = make_store(make_pod("web"))
    with pytest.raises(Conflict):
        Pods(store).patch_status("default/web", nominated_node_name="n1", uid="another")


def test_a_pod_that_does_not_exist_cannot_be_patched() -> None:
    with pytest.raises(NotFound):
        Pods(make_store()).patch_status("default/web", nominated_node_name="n1")
