# SPDX-License-Identifier: Apache-2.0
"""Devices of placed pods in golden scenarios: reported, then written into the claims, or kept in memory where the reference
did so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from steersman import api
from steersman.conformance.setting import Setting
from steersman.framework.cycle_state import CycleState
from steersman.framework.pod_info import PodInfo
from steersman.plugins.dynamic_resources import STATE_KEY, CycleClaims, DynamicResources, claim_tracker_of
from steersman.plugins.dynamic_resources.plugin import REASON_DEALLOCATED
from steersman.runtime.profile import Profile
from steersman.state.objects import ObjectStore

_replace = msgspec.structs.replace


def chosen_devices(profile: Profile, pod: PodInfo, node: str) -> dict[str, Any]:
    """Which devices the pod's claims get on the node, in the corpus' format."""
    plugin, state = profile.plugins.get(DynamicResources.name), CycleState()
    if not isinstance(plugin, DynamicResources) or not plugin.concerns(pod):
        return {}
    plugin.reserve(state, pod, node)
    cycle = state.read(STATE_KEY, CycleClaims) or CycleClaims()
    devices = {
        claim.metadata.name: _listed(cycle.allocations.get(index, claim.status.allocation))
        for index, claim in enumerate(cycle.own_claims)
    }
    plugin.unreserve(state, pod, node)
    return {"allocations": devices} if devices else {}


def reserve_devices(profile: Profile, pod: PodInfo, node: str, objects: ObjectStore) -> None:
    """Later pods find the devices taken. Allocations of users' claims are written, unless the pod has volumes to wait for."""
    plugin, state = profile.plugins.get(DynamicResources.name), CycleState()
    if not isinstance(plugin, DynamicResources) or not plugin.concerns(pod):
        return
    plugin.reserve(state, pod, node)
    cycle = state.read(STATE_KEY, CycleClaims)
    if cycle is None or pod.shape.has_claims:
        return
    for index, claim in enumerate(cycle.own_claims):
        allocation = cycle.allocations.get(index, claim.status.allocation)
        user = api.ResourceClaimConsumerReference(resource="pods", name=pod.pod.metadata.name, uid=pod.uid)
        status = _replace(claim.status, allocation=allocation, reserved_for=(*claim.status.reserved_for, user))
        objects.put(_replace(claim, status=status))
        claim_tracker_of(objects, consumable=True).release(claim.metadata.uid)


def write_deallocation(outcome: Mapping[str, Any], setting: Setting) -> None:
    """A claim that PostFilter gave up has no devices any more."""
    reasons = outcome.get("postFilter", {}).get("status", {}).get("reasons", ())
    claim = setting.api.changed_claim
    if REASON_DEALLOCATED in reasons and claim is not None:
        setting.objects.put(claim)


def _listed(allocation: api.AllocationResult | None) -> list[str]:
    results = () if allocation is None else allocation.devices.results
    return [f"{r.request}={r.driver}/{r.pool}/{r.device}" for r in results]
