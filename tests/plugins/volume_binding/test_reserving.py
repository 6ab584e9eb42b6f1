# SPDX-License-Identifier: Apache-2.0
"""Reserve lets other pods see volumes as taken before the API server knows; Unreserve gives them back."""

from __future__ import annotations

from tests.plugins.volume_binding.cluster import Cycle, VolumeCluster

from steersman.api.persistent_volumes import BOUND_BY_CONTROLLER, NO_PROVISIONER, SELECTED_NODE
from steersman.framework.cycle_state import CycleState
from steersman.framework.status import SKIP, Code, unresolvable
from steersman.scheduler.plugins.volume_binding import ERR_REASON_BIND_CONFLICT
from steersman.testing import make_claim, make_node, make_pod, make_storage_class, make_volume

NODES = [make_node("a"), make_node("b")]
LOCAL = make_storage_class("local").waits().provisioner(NO_PROVISIONER)
FAST = make_storage_class("fast").waits().provisioner("disk.example.com")
CONFLICT = unresolvable(ERR_REASON_BIND_CONFLICT)
ONE = make_claim("one").storage_class("local").asks("1Gi").resource_version(1)
TWO = make_claim("two").storage_class("local").asks("1Gi").resource_version(1)
DISK = make_volume("disk").storage_class("local").offers("1Gi").resource_version(1)
LAZY = make_claim("lazy").storage_class("fast").asks("1Gi").resource_version(1)


def cluster() -> VolumeCluster:
    return VolumeCluster(ONE, TWO, LAZY, DISK, LOCAL, FAST, nodes=NODES)


def reserved(world: VolumeCluster, claim: str, node: str = "a") -> Cycle:
    cycle = Cycle(world, make_pod(f"pod-{claim}").pvc(claim))
    assert cycle.filter(node) is None
    assert cycle.reserve(node) is None
    return cycle


def test_a_reserved_volume_is_taken() -> None:
    world = cluster()
    reserved(world, "one")
    assert world.filter(make_pod("later").pvc("two"), "a") == CONFLICT


def test_it_is_set_aside_for_the_claim() -> None:
    world = cluster()
    binding = reserved(world, "one").volumes("a").bindings[0]
    reference = binding.volume.spec.claim_ref
    assert reference is not None
    assert (reference.namespace, reference.name, reference.uid) == ("default", "one", ONE.obj().metadata.uid)
    assert binding.volume.metadata.annotations[BOUND_BY_CONTROLLER] == "yes"
    assert world.volume("disk").spec.claim_ref is None


def test_the_claim_itself_still_finds_it() -> None:
    world = cluster()
    reserved(world, "one")
    again = Cycle(world, make_pod("again").pvc("one"))
    assert again.filter("a") is None
    assert again.bindings("a") == {"one": "disk"}


def test_unreserving_gives_it_back_however_often() -> None:
    world = cluster()
    cycle = reserved(world, "one")
    cycle.unreserve("a")
    cycle.unreserve("a")
    assert world.filter(make_pod("later").pvc("two"), "a") is None


def test_a_claim_to_be_provisioned_is_given_to_the_node() -> None:
    world = cluster()
    cycle = reserved(world, "lazy")
    assert cycle.volumes("a").provisions[0].claim.metadata.annotations[SELECTED_NODE] == "a"
    assert world.filter(make_pod("later").pvc("lazy"), "b") == CONFLICT
    cycle.unreserve("a")
    assert world.filter(make_pod("later").pvc("lazy"), "b") is None


def test_what_the_api_server_shows_later_overrules() -> None:
    world = cluster()
    reserved(world, "one")
    world.store.put(DISK.resource_version(2).obj())
    assert world.filter(make_pod("later").pvc("two"), "a") is None


def test_a_volume_reserved_before_is_not_assumed_again() -> None:
    mine = DISK.claimed(ONE)
    world = VolumeCluster(ONE, mine, LOCAL, nodes=NODES)
    assert reserved(world, "one").volumes("a").bindings[0].volume == mine.obj()


def test_reserving_what_has_changed_meanwhile_is_a_fault_and_leaves_nothing_behind() -> None:
    world = VolumeCluster(ONE, TWO, DISK, DISK.name("more"), LOCAL, nodes=NODES)
    cycle = Cycle(world, make_pod().pvc("one").pvc("two"))
    cycle.filter("a")
    world.store.put(DISK.name("more").resource_version(2).obj())
    status = cycle.reserve("a")
    assert status is not None
    assert status.code is Code.ERROR
    assert status.message == '"more" is out of sync (stored: 2, assume: 1)'
    assert Cycle(world, make_pod("later").pvc("one")).filter("a") is None


def test_a_volume_that_has_gone_meanwhile_is_a_fault() -> None:
    world = cluster()
    cycle = Cycle(world, make_pod().pvc("one"))
    cycle.filter("a")
    world.store.remove(DISK.obj())
    status = cycle.reserve("a")
    assert status is not None
    assert status.message == 'persistentvolumes "disk" not found'


def test_for_bound_claims_nothing_is_to_be_done() -> None:
    world = VolumeCluster(make_claim("data").bound("v"), make_volume("v"), nodes=NODES)
    cycle = Cycle(world, make_pod().pvc("data"))
    cycle.filter("a")
    assert cycle.reserve("a") is None
    assert cycle.pre_flight("a") == SKIP
    assert cycle.bind("a") is None
    assert world.handle.written == []


def test_pods_without_claims_pass_through() -> None:
    plugin, state, pod = cluster().plugin, CycleState(), make_pod().info()
    assert plugin.reserve(state, pod, "a") is None
    assert plugin.pre_bind_pre_flight(state, pod, "a") == SKIP
    plugin.unreserve(state, pod, "a")


def test_a_node_that_filter_did_not_look_at_is_examined_now() -> None:
    world = cluster()
    cycle = Cycle(world, make_pod().pvc("one"))
    assert cycle.reserve("b") is None
    assert cycle.bindings("b") == {"one": "disk"}


def test_without_prefilter_and_filter_reserve_does_their_work() -> None:
    world, state, pod = cluster(), CycleState(), make_pod().pvc("one").info()
    assert world.plugin.reserve(state, pod, "a") is None
    assert world.filter(make_pod("later").pvc("two"), "a") == CONFLICT


def test_before_reserve_there_is_nothing_to_bind() -> None:
    status = Cycle(cluster(), make_pod().pvc("one")).pre_flight("a")
    assert status is not None
    assert status.message == 'no pod volume found for node "a"'
