# SPDX-License-Identifier: Apache-2.0
"""Defaults of dynamic resource allocation: a request without a count is for one device."""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from steersman.api import (
    Device,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceSlice,
)
from steersman.cluster.store.store import ClusterView

EXACT_COUNT: Final = "ExactCount"
ONE: Final = "1"

OneRequest = TypeVar("OneRequest", ExactDeviceRequest, DeviceSubRequest)

_replace = msgspec.structs.replace


def admit_claim(claim: ResourceClaim, _: ResourceClaim | None, __: ClusterView) -> ResourceClaim:
    return _replace(claim, spec=_claim_spec(claim.spec))


def admit_claim_template(
    template: ResourceClaimTemplate, _: ResourceClaimTemplate | None, __: ClusterView
) -> ResourceClaimTemplate:
    return _replace(template, spec=_replace(template.spec, spec=_claim_spec(template.spec.spec)))


def admit_slice(resource_slice: ResourceSlice, _: ResourceSlice | None, __: ClusterView) -> ResourceSlice:
    devices = tuple(map(_device, resource_slice.spec.devices))
    return _replace(resource_slice, spec=_replace(resource_slice.spec, devices=devices))


def _claim_spec(spec: ResourceClaimSpec) -> ResourceClaimSpec:
    requests = tuple(map(_request, spec.devices.requests))
    return _replace(spec, devices=_replace(spec.devices, requests=requests))


def _request(request: DeviceRequest) -> DeviceRequest:
    exactly = None if request.exactly is None else _counted(request.exactly)
    return _replace(request, exactly=exactly, first_available=tuple(map(_counted, request.first_available)))


def _counted(request: OneRequest) -> OneRequest:
    mode = request.allocation_mode or EXACT_COUNT
    count = 1 if mode == EXACT_COUNT and not request.count else request.count
    return _replace(request, allocation_mode=mode, count=count)


def _device(device: Device) -> Device:
    mappings = device.node_allocatable_resource_mappings
    if all(mapping.allocation_multiplier is not None for mapping in mappings.values()):
        return device
    completed = {
        name: mapping if mapping.allocation_multiplier is not None else _replace(mapping, allocation_multiplier=ONE)
        for name, mapping in mappings.items()
    }
    return _replace(device, node_allocatable_resource_mappings=completed)
