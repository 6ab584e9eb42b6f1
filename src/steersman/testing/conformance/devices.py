# SPDX-License-Identifier: Apache-2.0
"""Devices of placed pods in golden scenarios: reported, then written into the claims or reserved in
memory, as in the reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from steersman import api
from steersman.framework import CycleState, PodInfo
from steersman.scheduler.plugins import (
    CLAIMS_STATE_KEY,
    REASON_DEALLOCATED,
    CycleClaims,
    DynamicResources,
    claim_tracker_of,
)
from steersman.scheduler.runtime import Profile
from steersman.scheduler.state import ObjectStore
from steersman.testing.conformance.setting import Setting

_replace = msgspec.structs.replace


def chosen_devices(profile: Profile, pod: PodInfo, node: str) -> dict[str, Any]:
    """Return the devices that the pod's claims get on the node, in the corpus' format."""
    plugin, state = profile.plugins.get(DynamicResources.name), CycleState()
    if not isinstance(plugin, DynamicResources) or not plugin.concerns(pod):
        return {}
    plugin.reserve(state, pod, node)
    cycle = state.read(CLAIMS_STATE_KEY, CycleClaims) or CycleClaims()
    devices = {
        claim.metadata.name: listed_devices(cycle.allocations.get(index, claim.status.allocation))
        for index, claim in enumerate(cycle.own_claims)
    }
    plugin.unreserve(state, pod, node)
    return {"allocations": devices} if devices else {}


def reserve_devices(profile: Profile, pod: PodInfo, node: str, objects: ObjectStore) -> None:
    """Reserve the pod's devices; allocations are written unless the pod waits for volumes."""
    plugin, state = profile.plugins.get(DynamicResources.name), CycleState()
    if not isinstance(plugin, DynamicResources) or not plugin.concerns(pod):
        return
    plugin.reserve(state, pod, node)
    cycle = state.read(CLAIMS_STATE_KEY, CycleClaims)
    if cycle is None or pod.shape.has_claims:
        return
    for index, claim in enumerate(cycle.own_claims):
        allocation = cycle.allocations.get(index, claim.status.allocation)
        user = api.ResourceClaimConsumerReference(resource="pods", name=pod.pod.metadata.name, uid=pod.uid)
        status = _replace(claim.status, allocation=allocation, reserved_for=(*claim.status.reserved_for, user))
        objects.put(_replace(claim, status=status))
        claim_tracker_of(objects, consumable=True).release(claim.metadata.uid)


def write_deallocation(outcome: Mapping[str, Any], setting: Setting) -> None:
    """Write the claim that PostFilter deallocated."""
    reasons = outcome.get("postFilter", {}).get("status", {}).get("reasons", ())
    claim = setting.writer.changed_claim
    if REASON_DEALLOCATED in reasons and claim is not None:
        setting.objects.put(claim)


def listed_devices(allocation: api.AllocationResult | None) -> list[str]:
    """Return the allocated devices in the corpus' format."""
    results = () if allocation is None else allocation.devices.results
    return [f"{r.request}={r.driver}/{r.pool}/{r.device}" for r in results]
