# SPDX-License-Identifier: Apache-2.0
"""Filter finds devices, Reserve takes them, PreBind writes them down, Unreserve gives them back."""

from __future__ import annotations

from tests.plugins.dynamic_resources.handle import OnePlugin

from steersman.config import DynamicResourcesArgs
from steersman.framework.cycle_state import CycleState
from steersman.framework.status import Code
from steersman.scheduler.plugins.dynamic_resources import DynamicResources
from steersman.scheduler.plugins.dynamic_resources.binding import FINALIZER
from steersman.testing import make_device_class, make_node, make_pod, make_resource_claim, make_slice

NODES = [make_node("a").info(), make_node("b").info(), make_node("bare").info()]
SUPPLY = (
    make_device_class("any"),
    make_slice("a").on_node("a").device("a0"),
    make_slice("b").on_node("b").device("b0").device("b1"),
)
TRAIN = make_pod("train").resource_claim("gpu").info()
OTHER = make_pod("other").resource_claim("gpu2").info()


def cluster(gates: dict[str, bool] | None = None) -> OnePlugin:
    claims = (make_resource_claim("gpu").asks("r", "any"), make_resource_claim("gpu2").asks("r", "any"))
    return OnePlugin(*claims, *SUPPLY, nodes=NODES, gates=gates)


def test_nodes_without_devices_are_rejected() -> None:
    assert cluster().reasons(TRAIN) == {"a": "", "b": "", "bare": "cannot allocate all claims"}


def test_devices_are_taken_from_reserve_on() -> None:
    one = cluster()
    assert one.take(TRAIN, "a") is None
    assert one.reasons(OTHER) == {"a": "cannot allocate all claims", "b": "", "bare": "cannot allocate all claims"}


def test_devices_are_given_back_if_the_pod_is_not_bound() -> None:
    one = cluster()
    one.take(TRAIN, "a")
    one.plugin.unreserve(one.state, TRAIN, "a")
    assert one.reasons(OTHER)["a"] == ""
    one.plugin.unreserve(one.state, OTHER, "a")


def test_the_allocation_is_written_with_the_user_and_a_finalizer() -> None:
    one = cluster()
    one.place(TRAIN, "b")
    claim = one.claim("gpu")
    assert one.devices("gpu") == ["b0"]
    assert claim.metadata.finalizers == (FINALIZER,)
    assert [(user.resource, user.name, user.uid) for user in claim.status.reserved_for] == [
        ("pods", "train", TRAIN.uid)
    ]
    assert claim.status.allocation is not None
    assert claim.status.allocation.allocation_timestamp == "1970-01-01T00:00:00Z"
    assert one.reasons(OTHER)["b"] == ""
    one.place(OTHER, "b")
    assert one.devices("gpu2") == ["b1"]


def test_a_second_pod_shares_an_allocated_claim_where_it_can_be_used() -> None:
    one = cluster()
    one.place(TRAIN, "b")
    second = make_pod("second").resource_claim("gpu").info()
    not_there = "resourceclaim not available on the node"
    assert one.reasons(second) == {"a": not_there, "b": "", "bare": not_there}
    one.place(second, "b")
    assert [user.name for user in one.claim("gpu").status.reserved_for] == ["train", "second"]


def test_a_refusal_of_the_server_gives_the_devices_back() -> None:
    one = cluster()
    one.take(TRAIN, "a")
    one.handle.resource_claims.fails = True
    try:
        one.bind(TRAIN, "a")
    except RuntimeError:
        one.plugin.unreserve(one.state, TRAIN, "a")
    assert one.reasons(OTHER)["a"] == ""


def test_a_claim_allocated_by_another_client_meanwhile_is_left_alone() -> None:
    one = cluster()
    one.take(TRAIN, "a")
    taken = make_resource_claim("gpu").asks("r", "any").allocated(("r", "gpu.example.com", "b", "b1"), on_node="b")
    one.handle.store.put(taken.obj())
    status = one.bind(TRAIN, "a")
    assert status is not None
    assert (status.code, status.message) == (Code.ERROR, "claim default/gpu got allocated elsewhere in the meantime")
    assert one.devices("gpu") == ["b1"]


def test_a_pod_that_loses_its_node_leaves_the_list_of_users() -> None:
    one = cluster()
    one.place(TRAIN, "b")
    one.plugin.unreserve(one.state, TRAIN, "b")
    assert one.claim("gpu").status.reserved_for == ()
    assert one.devices("gpu") == ["b0"]


def test_reserve_finds_devices_on_a_node_that_filter_has_not_seen() -> None:
    one = cluster()
    one.pre_filter(TRAIN)
    assert one.plugin.reserve(one.state, TRAIN, "b") is None
    assert one.bind(TRAIN, "b") is None
    assert one.devices("gpu") == ["b0"]


def test_reserve_fails_on_a_node_without_devices() -> None:
    one = cluster()
    one.pre_filter(TRAIN)
    status = one.plugin.reserve(one.state, TRAIN, "bare")
    assert status is not None
    assert status.code is Code.ERROR


def test_profiles_share_what_is_taken() -> None:
    one = cluster()
    one.take(TRAIN, "a")
    of_another_profile = DynamicResources(DynamicResourcesArgs(), one.handle)
    state = CycleState()
    assert of_another_profile.pre_filter(state, OTHER, ()) is None
    status = of_another_profile.filter(state, OTHER, NODES[0])
    assert status is not None
    assert status.message == "cannot allocate all claims"
