# SPDX-License-Identifier: Apache-2.0
"""What makes a pod that waits for devices worth another attempt."""

from __future__ import annotations

import msgspec
from tests.plugins.dynamic_resources.handle import OnePlugin

from steersman import api
from steersman.framework.events import QueueingHint
from steersman.scheduler.plugins.dynamic_resources.allocation import Features
from steersman.scheduler.plugins.dynamic_resources.claims import claim_tracker_of
from steersman.scheduler.plugins.dynamic_resources.hints import ClaimHints
from steersman.testing import make_pod, make_resource_claim

MINE, OTHER = make_resource_claim("gpu").obj(), make_resource_claim("elsewhere").obj()
WAITING = make_pod("train").resource_claim("gpu").obj()


def hints() -> ClaimHints:
    one = OnePlugin(make_resource_claim("gpu"), make_resource_claim("elsewhere"))
    return ClaimHints(claim_tracker_of(one.handle.objects, consumable=True), Features())


def test_only_the_pods_own_claim_wakes_it_unless_devices_were_freed() -> None:
    after = hints().after_claim_change
    assert after(WAITING, None, MINE) is QueueingHint.QUEUE
    assert after(WAITING, None, OTHER) is QueueingHint.SKIP
    assert after(WAITING, MINE, MINE) is QueueingHint.SKIP
    allocated = msgspec.structs.replace(OTHER, status=api.ResourceClaimStatus(allocation=api.AllocationResult()))
    assert after(WAITING, allocated, OTHER) is QueueingHint.QUEUE
    assert after(WAITING, OTHER, allocated) is QueueingHint.SKIP


def test_a_pod_whose_claims_are_missing_is_not_woken() -> None:
    waiting = make_pod("train").resource_claim("gpu").resource_claim("missing").obj()
    assert hints().after_claim_change(waiting, None, MINE) is QueueingHint.SKIP


def test_the_names_of_its_claims_wake_a_pod() -> None:
    after = hints().after_pod_change
    assert after(WAITING, None, WAITING) is QueueingHint.QUEUE
    assert after(WAITING, None, make_pod("another").obj()) is QueueingHint.SKIP
    assert after(WAITING, None, make_pod("train").resource_claim("missing").obj()) is QueueingHint.SKIP
