# SPDX-License-Identifier: Apache-2.0
"""Members of a pod group share claims, and a group that cannot be placed frees them."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from tests.plugins.dynamic_resources.handle import DevicesFakeHandle

from steersman import api
from steersman.config import DynamicResourcesArgs
from steersman.framework import (
    CycleState,
    GroupKey,
    GroupKind,
    PodGroupInfo,
    PreFilteredMembers,
    Status,
    error,
    unresolvable,
    unschedulable,
)
from steersman.scheduler.plugins.dynamic_resources import CLAIMS_STATE_KEY, CycleClaims, DynamicResources
from steersman.scheduler.state.pod_groups import PodGroupTable
from steersman.testing import (
    PodBuilder,
    ResourceClaimBuilder,
    make_device_class,
    make_node,
    make_pod,
    make_pod_group,
    make_resource_claim,
    make_slice,
)

NODES = [make_node("a").info(), make_node("b").info()]
WITH_GROUP_CLAIMS = {"DRAWorkloadResourceClaims": True}
COMPLETED = unschedulable("deallocation and deletion of ResourceClaims completed")
CONFLICT = (
    'Operation cannot be fulfilled on resourceclaims.resource.k8s.io "gpu": the object has been modified; '
    "please apply your changes to the latest version and try again"
)
UNREACHABLE = make_resource_claim("gpu").asks("r", "any").allocated(("r", "gpu.example.com", "z", "d"), on_node="gone")
replace = msgspec.structs.replace


def member(name: str, *claims: str) -> PodBuilder:
    pod = make_pod(name).in_group("gang")
    for claim in claims:
        pod = pod.resource_claim(claim)
    return pod


def gang(*claims: api.PodResourceClaim) -> api.PodGroup:
    group = make_pod_group("gang").gang(2).obj()
    return replace(group, spec=replace(group.spec, resource_claims=claims))


class GroupCycle:
    """The plugin in the cycle of the group `gang`; node a has two devices, node b has none."""

    def __init__(
        self,
        *claims: ResourceClaimBuilder,
        group: api.PodGroup | None = None,
        gates: dict[str, bool] | None = None,
    ) -> None:
        devices = make_slice("a").on_node("a").device("d0").device("d1")
        built = [one.obj() for one in claims]
        self.handle = DevicesFakeHandle(*built, make_device_class("any").obj(), devices.obj(), nodes=NODES, gates=gates)
        self.table = self.handle.pod_groups = PodGroupTable()
        self.table.set_group(group or gang())
        self.plugin = DynamicResources(DynamicResourcesArgs(), self.handle)
        self.state = CycleState()

    def pre_filter(self, pod: PodBuilder) -> tuple[CycleState, Status | None]:
        state = CycleState(group_cycle=self.state)
        return state, self.plugin.pre_filter(state, pod.info(), ())

    def filtered(self, pod: PodBuilder) -> CycleState:
        """Run PreFilter, and Filter of all nodes."""
        state, status = self.pre_filter(pod)
        assert status is None
        for node in NODES:
            self.plugin.filter(state, pod.info(), node)
        return state

    def reserve(self, pod: PodBuilder, node: str = "a") -> CycleState:
        state = self.filtered(pod)
        assert self.plugin.reserve(state, pod.info(), node) is None
        return state

    def bind(self, pod: PodBuilder, state: CycleState) -> Status | None:
        alone = CycleState(entries=state.entries)
        return asyncio.run(self.plugin.pre_bind(alone, pod.info(), "a"))

    def post_filter(self, *pods: PodBuilder, group: PodGroupInfo | None = None) -> Status:
        key = GroupKey(GroupKind.POD_GROUP, "default", "gang")
        group = group or PodGroupInfo(key, self.table.group(key))
        group.unscheduled_pods = [pod.info() for pod in pods]
        result, status = self.plugin.pod_group_post_filter(self.state, group, lambda: pytest.fail("not needed"))
        assert result is None
        return status

    def claim(self, name: str = "gpu") -> api.ResourceClaim:
        found = self.handle.store.get(api.ResourceClaim, f"default/{name}")
        assert found is not None
        return found


def devices(state: CycleState) -> list[str]:
    cycle = state.read(CLAIMS_STATE_KEY, CycleClaims)
    assert cycle is not None
    return [result.device for _, one in sorted(cycle.allocations.items()) for result in one.devices.results]


def claim(name: str) -> ResourceClaimBuilder:
    return make_resource_claim(name).asks("r", "any")


class TestSharing:
    def test_a_member_uses_what_an_earlier_member_has_reserved(self) -> None:
        cycle = GroupCycle(claim("gpu"))
        first, second = cycle.reserve(member("m0", "gpu")), cycle.reserve(member("m1", "gpu"))
        assert devices(first) == devices(second) == ["d0"]
        assert cycle.plugin.filter(second, member("m1", "gpu").info(), NODES[1]) == unresolvable(
            "resourceclaim not available on the node"
        ).with_plugin("")

    def test_a_pod_of_another_cycle_has_to_wait(self) -> None:
        cycle = GroupCycle(claim("gpu"))
        cycle.reserve(member("m0", "gpu"))
        other = CycleState(group_cycle=CycleState())
        assert cycle.plugin.pre_filter(other, member("m1", "gpu").info(), ()) == unresolvable(
            "resource claim default/gpu is in the process of being allocated"
        )

    def test_the_devices_are_free_when_the_last_member_gives_them_back(self) -> None:
        cycle = GroupCycle(claim("gpu"))
        states = {pod.info().key: (pod, cycle.reserve(pod)) for pod in (member("m0", "gpu"), member("m1", "gpu"))}
        for pod, state in states.values():
            cycle.plugin.unreserve(state, pod.info(), "a")
        assert devices(cycle.reserve(member("m2", "gpu"))) == ["d0"]

    def test_members_with_equal_claims_have_devices_of_their_own_when_they_are_reserved_again(self) -> None:
        cycle = GroupCycle(claim("c0"), claim("c1"))
        pods = [member("m0", "c0"), member("m1", "c1")]
        states = [cycle.reserve(pod) for pod in pods]
        assert [devices(state) for state in states] == [["d0"], ["d1"]]
        for pod, state in zip(pods, states, strict=True):
            cycle.plugin.unreserve(state, pod.info(), "a")
        for pod, state in zip(pods, states, strict=True):
            assert cycle.plugin.reserve(state, pod.info(), "a") is None
        assert [devices(state) for state in states] == [["d0"], ["d1"]]

    def test_the_second_member_to_write_a_shared_allocation_is_refused(self) -> None:
        cycle = GroupCycle(claim("gpu"))
        pods = [member("m0", "gpu"), member("m1", "gpu")]
        states = [cycle.reserve(pod) for pod in pods]
        assert cycle.bind(pods[0], states[0]) is None
        assert cycle.bind(pods[1], states[1]) == error("claim default/gpu got allocated elsewhere in the meantime")
        assert [user.name for user in cycle.claim().status.reserved_for] == ["m0"]


class TestReservation:
    LISTED = api.PodResourceClaim(name="gpu", resource_claim_name="gpu")

    def test_a_claim_that_the_group_lists_is_reserved_for_the_group(self) -> None:
        cycle = GroupCycle(claim("gpu"), claim("own"), group=gang(self.LISTED), gates=WITH_GROUP_CLAIMS)
        pod = member("m0", "gpu", "own")
        assert cycle.bind(pod, cycle.reserve(pod)) is None
        (user,) = cycle.claim("gpu").status.reserved_for
        assert (user.api_group, user.resource, user.name) == ("scheduling.k8s.io", "podgroups", "gang")
        assert [user.resource for user in cycle.claim("own").status.reserved_for] == ["pods"]

    def test_it_is_reserved_once_for_all_members(self) -> None:
        cycle = GroupCycle(claim("gpu"), group=gang(self.LISTED), gates=WITH_GROUP_CLAIMS)
        for name in ("m0", "m1"):
            pod = member(name, "gpu")
            assert cycle.bind(pod, cycle.reserve(pod)) is None
        assert len(cycle.claim("gpu").status.reserved_for) == 1

    def test_without_the_gate_it_is_reserved_for_the_pod(self) -> None:
        cycle = GroupCycle(claim("gpu"), group=gang(self.LISTED))
        pod = member("m0", "gpu")
        assert cycle.bind(pod, cycle.reserve(pod)) is None
        assert [user.resource for user in cycle.claim("gpu").status.reserved_for] == ["pods"]

    def test_a_claim_that_was_generated_for_the_group_is_usable_with_the_gate(self) -> None:
        owner = api.OwnerReference(
            api_version="scheduling.k8s.io/v1beta1", kind="PodGroup", name="gang", uid="any", controller=True
        )
        generated = claim("gpu-x").obj()
        generated = replace(generated, metadata=replace(generated.metadata, owner_references=(owner,)))
        pod = member("m0").obj()
        named = api.PodResourceClaim(name="gpu", resource_claim_template_name="template")
        status = api.PodResourceClaimStatus(name="gpu", resource_claim_name="gpu-x")
        pod = replace(
            pod,
            spec=replace(pod.spec, resource_claims=(named,)),
            status=replace(pod.status, resource_claim_statuses=(status,)),
        )
        text = "ResourceClaim default/gpu-x was not created for Pod default/m0 ({})"
        for gates, name, expected in (
            (WITH_GROUP_CLAIMS, "gang", None),
            ({}, "gang", text.format("Pod is not owner")),
            (WITH_GROUP_CLAIMS, "other", text.format("neither Pod nor PodGroup other is the owner")),
        ):
            cycle = GroupCycle(gates=gates)
            cycle.handle.store.put(generated)
            group = api.PodSchedulingGroup(pod_group_name=name)
            refused = cycle.plugin.pre_enqueue(replace(pod, spec=replace(pod.spec, scheduling_group=group)))
            assert refused == (None if expected is None else unresolvable(expected))


class TestPostFilter:
    def test_no_member_that_reached_the_plugin_is_an_error(self) -> None:
        assert GroupCycle().post_filter(member("m0", "gpu")) == error("not found")

    def test_members_without_claims_count_if_pre_filter_reached_the_plugin(self) -> None:
        cycle = GroupCycle()
        PreFilteredMembers.of_cycle(cycle.state).skipped["default/m0"] = frozenset({"DynamicResources"})
        assert cycle.post_filter(member("m0")) == COMPLETED

    def test_a_claim_out_of_reach_is_deallocated(self) -> None:
        cycle = GroupCycle(UNREACHABLE)
        cycle.filtered(member("m0", "gpu"))
        assert cycle.post_filter(member("m0", "gpu")) == COMPLETED
        assert cycle.claim().status.allocation is None

    def test_one_that_another_pod_uses_stays(self) -> None:
        cycle = GroupCycle(UNREACHABLE.used_by("another"))
        cycle.filtered(member("m0", "gpu"))
        assert cycle.post_filter(member("m0", "gpu")) == COMPLETED
        assert cycle.claim().status.allocation is not None

    def test_two_members_that_would_deallocate_the_same_claim_conflict(self) -> None:
        cycle = GroupCycle(UNREACHABLE)
        pods = [member("m0", "gpu"), member("m1", "gpu")]
        for pod in pods:
            cycle.filtered(pod)
        assert cycle.post_filter(*pods) == error(CONFLICT)

    def test_the_reservation_of_the_group_is_removed_if_nothing_runs(self) -> None:
        group = gang(TestReservation.LISTED)
        reserved = UNREACHABLE.obj()
        user = api.ResourceClaimConsumerReference(
            api_group="scheduling.k8s.io", resource="podgroups", name="gang", uid=group.metadata.uid
        )
        cycle = GroupCycle(group=group, gates=WITH_GROUP_CLAIMS)
        other = api.ResourceClaimConsumerReference(resource="pods", name="x", uid="x")
        cycle.handle.store.put(replace(reserved, status=replace(reserved.status, reserved_for=(user, other))))
        cycle.filtered(member("m0", "gpu"))
        assert cycle.post_filter(member("m0", "gpu")) == unresolvable("ResourceClaim unreserved for PodGroup")
        assert cycle.claim().status.reserved_for == (other,)

    def test_the_claim_of_the_group_is_deallocated_if_only_the_group_uses_it(self) -> None:
        group = gang(TestReservation.LISTED)
        cycle = GroupCycle(group=group, gates=WITH_GROUP_CLAIMS)
        user = api.ResourceClaimConsumerReference(
            api_group="scheduling.k8s.io", resource="podgroups", name="gang", uid=group.metadata.uid
        )
        reserved = UNREACHABLE.obj()
        cycle.handle.store.put(replace(reserved, status=replace(reserved.status, reserved_for=(user,))))
        cycle.filtered(member("m0", "gpu"))
        expected = unschedulable("deallocation of PodGroup ResourceClaim completed")
        assert cycle.post_filter(member("m0", "gpu")) == expected
        assert cycle.claim().status.allocation is None

    def test_nothing_is_done_for_a_running_group_beyond_its_members(self) -> None:
        group = gang(TestReservation.LISTED)
        cycle = GroupCycle(UNREACHABLE.used_by("x"), group=group, gates=WITH_GROUP_CLAIMS)
        cycle.table.put(member("running").node("a").obj())
        cycle.filtered(member("m0", "gpu"))
        assert cycle.post_filter(member("m0", "gpu")) == COMPLETED

    def test_composite_groups_and_groups_with_topology_are_left_alone(self) -> None:
        cycle = GroupCycle(UNREACHABLE, gates={"TopologyAwareWorkloadScheduling": True})
        cycle.filtered(member("m0", "gpu"))
        composite = PodGroupInfo(GroupKey(GroupKind.COMPOSITE, "default", "root"))
        bound = PodGroupInfo(
            GroupKey(GroupKind.POD_GROUP, "default", "gang"), make_pod_group("gang").gang(1).topology("rack").obj()
        )
        for group in (composite, bound):
            assert cycle.post_filter(member("m0", "gpu"), group=group) == unschedulable()
        assert cycle.claim().status.allocation is not None
