# SPDX-License-Identifier: Apache-2.0
"""When no node fits, an allocation that keeps the pod away from all of them is given up, if nobody else uses it."""

from __future__ import annotations

from tests.plugins.dynamic_resources.handle import OnePlugin

from steersman.framework.status import Code, Status
from steersman.scheduler.plugins.dynamic_resources import extended_resources
from steersman.scheduler.plugins.dynamic_resources.plugin import REASON_DEALLOCATED, REASON_DELETED, REASON_STILL_NOT
from steersman.testing import (
    ResourceClaimBuilder,
    make_device_class,
    make_node,
    make_pod,
    make_resource_claim,
    make_slice,
)

NODES = [make_node("a").info(), make_node("b").info()]
TRAIN = make_pod("train").resource_claim("gpu").info()
ELSEWHERE = make_resource_claim("gpu").asks("r", "any").allocated(("r", "gpu.example.com", "z", "d"), on_node="gone")


class Statuses:
    """As the cycle makes them."""

    def __init__(self, one: OnePlugin) -> None:
        self.groups: dict[Status, list[str]] = {}
        for node in one.handle.nodes.all():
            status = one.plugin.filter(one.state, TRAIN, node)
            assert status is not None
            self.groups.setdefault(status.with_plugin("DynamicResources"), []).append(node.name)


def post_filter(one: OnePlugin) -> str:
    assert one.pre_filter(TRAIN) is None
    result, status = one.plugin.post_filter(one.state, TRAIN, Statuses(one))
    assert result is None
    assert status.code is Code.UNSCHEDULABLE
    return status.message


def cluster(claim: ResourceClaimBuilder) -> OnePlugin:
    return OnePlugin(claim, make_device_class("any"), make_slice("a").on_node("a").device("d"), nodes=NODES)


def test_an_unused_allocation_is_dropped() -> None:
    one = cluster(ELSEWHERE)
    assert post_filter(one) == REASON_DEALLOCATED
    assert one.claim("gpu").status.allocation is None
    assert one.reasons(TRAIN) == {"a": "", "b": "cannot allocate all claims"}


def test_so_is_one_that_only_the_pod_itself_uses() -> None:
    one = cluster(ELSEWHERE.used_by("train"))
    assert post_filter(one) == REASON_DEALLOCATED
    assert one.claim("gpu").status.reserved_for == ()


def test_an_allocation_that_others_use_is_left_alone() -> None:
    for users in (("other",), ("train", "other")):
        one = cluster(ELSEWHERE.used_by(*users))
        assert post_filter(one) == REASON_STILL_NOT
        assert one.devices("gpu") == ["d"]


def test_there_is_nothing_to_give_up_where_devices_are_missing() -> None:
    assert post_filter(cluster(make_resource_claim("gpu").asks("r", "any", count=2))) == REASON_STILL_NOT


def test_a_claim_left_behind_for_extended_resources_is_deleted() -> None:
    left = (
        make_resource_claim("left")
        .asks("r", "any")
        .annotation(extended_resources.ANNOTATION, "true")
        .owner("Pod", "train")
    )
    one = OnePlugin(left, make_device_class("any").backs("example.com/gpu"), nodes=NODES)
    pod = make_pod("train").req(**{"example.com/gpu": "1"}).info()
    assert one.reasons(pod) == dict.fromkeys("ab", "cannot schedule extended resource claim")
    _, status = one.plugin.post_filter(one.state, pod, Statuses(one))
    assert status.message == REASON_DELETED
    assert one.handle.resource_claims.deleted == ["left"]
