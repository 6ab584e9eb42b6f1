# SPDX-License-Identifier: Apache-2.0
"""Claims with the access mode ReadWriteOncePod: one pod in the whole cluster."""

from __future__ import annotations

from collections.abc import Sequence

from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.status import SKIP, unresolvable, unschedulable
from steersman.scheduler.plugins.volume_restrictions import ERR_REASON_READ_WRITE_ONCE_POD_CONFLICT, VolumeRestrictions
from steersman.testing import make_claim, make_node, make_pod

CONFLICT = unschedulable(ERR_REASON_READ_WRITE_ONCE_POD_CONFLICT)
EXCLUSIVE = make_claim("mine").modes("ReadWriteOncePod").obj()
ALSO_EXCLUSIVE = make_claim("too").modes("ReadWriteOncePod").obj()
SHARED = make_claim("ours").modes("ReadWriteMany").obj()


def plugin_on(nodes: Sequence[NodeInfo], *claims: api.PersistentVolumeClaim) -> VolumeRestrictions:
    return VolumeRestrictions(None, FakeHandle(nodes=nodes, objects=claims))


def test_a_claim_in_use_anywhere_rejects_every_node() -> None:
    user, empty = make_node("a").info(make_pod("user").pvc("mine")), make_node("b").info()
    plugin, state, pod = plugin_on([user, empty], EXCLUSIVE), CycleState(), make_pod().pvc("mine").info()
    assert plugin.pre_filter(state, pod, [user, empty]) is None
    assert plugin.filter(state, pod, user) == CONFLICT
    assert plugin.filter(state, pod, empty) == CONFLICT


def test_a_free_claim_needs_no_further_look() -> None:
    node = make_node("a").info(make_pod("user").pvc("ours"))
    assert plugin_on([node], EXCLUSIVE).pre_filter(CycleState(), make_pod().pvc("mine").info(), [node]) == SKIP


def test_claims_with_other_access_modes_are_shared() -> None:
    node = make_node("a").info(make_pod("user").pvc("ours"))
    assert plugin_on([node], SHARED).pre_filter(CycleState(), make_pod().pvc("ours").info(), [node]) == SKIP


def test_a_claim_of_the_same_name_in_another_namespace_does_not_matter() -> None:
    node = make_node("a").info(make_pod("user").namespace("other").pvc("mine"))
    assert plugin_on([node], EXCLUSIVE).pre_filter(CycleState(), make_pod().pvc("mine").info(), [node]) == SKIP


def test_a_missing_claim_is_reported() -> None:
    status = plugin_on([]).pre_filter(CycleState(), make_pod().pvc("mine").info(), [])
    assert status == unresolvable('persistentvolumeclaim "mine" not found')


def test_removing_the_user_frees_the_claim_and_adding_it_takes_it_again() -> None:
    user = make_pod("user").pvc("mine")
    node = make_node("a").info(user)
    plugin, state, pod = plugin_on([node], EXCLUSIVE), CycleState(), make_pod().pvc("mine").info()
    plugin.pre_filter(state, pod, [node])
    plugin.remove_pod(state, pod, user.info(), node)
    assert plugin.filter(state, pod, node) is None
    plugin.add_pod(state, pod, user.info(), node)
    assert plugin.filter(state, pod, node) == CONFLICT


def test_all_users_must_go() -> None:
    first, second = make_pod("first").pvc("mine"), make_pod("second").pvc("too")
    node = make_node("a").info(first, second)
    plugin, state = plugin_on([node], EXCLUSIVE, ALSO_EXCLUSIVE), CycleState()
    pod = make_pod().pvc("mine").pvc("too").info()
    plugin.pre_filter(state, pod, [node])
    plugin.remove_pod(state, pod, first.info(), node)
    assert plugin.filter(state, pod, node) == CONFLICT
    plugin.remove_pod(state, pod, second.info(), node)
    assert plugin.filter(state, pod, node) is None


def test_what_if_questions_do_not_change_the_cycle() -> None:
    user = make_pod("user").pvc("mine")
    node = make_node("a").info(user)
    plugin, state, pod = plugin_on([node], EXCLUSIVE), CycleState(), make_pod().pvc("mine").info()
    plugin.pre_filter(state, pod, [node])
    plugin.remove_pod(state.clone(), pod, user.info(), node)
    assert plugin.filter(state, pod, node) == CONFLICT


def test_adding_a_pod_without_prefilter_is_a_fault() -> None:
    node = make_node("a").info()
    status = plugin_on([node]).add_pod(CycleState(), make_pod().info(), make_pod("x").info(), node)
    assert status is not None
    assert status.message == 'cannot read "PreFilterVolumeRestrictions" from cycleState'


def test_only_pods_with_claims_or_restricted_disks_are_its_concern() -> None:
    plugin = plugin_on([])
    disk = api.Volume(rbd=api.RBD(monitors=("a",)))
    assert plugin.concerns(make_pod().pvc("mine").info())
    assert plugin.concerns(make_pod().volume(disk).info())
    assert not plugin.concerns(make_pod().info())
    assert not plugin.concerns(make_pod().volume(api.Volume(name="tmp", empty_dir=api.EmptyDir())).info())
