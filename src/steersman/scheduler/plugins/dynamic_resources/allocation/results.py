# SPDX-License-Identifier: Apache-2.0
"""The allocation result of a claim, created from the devices that were found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from steersman import api
from steersman.api import canonical, parse
from steersman.scheduler.plugins.dynamic_resources.allocation.limits import AllocationFault, Features
from steersman.scheduler.plugins.dynamic_resources.allocation.requests import DeviceRequirement, PreparedClaim
from steersman.scheduler.plugins.dynamic_resources.allocation.search import FoundDevice

NewShareId = Callable[[], str]


def allocation_of(
    claim: PreparedClaim, found: Sequence[FoundDevice], node_name: str, features: Features, new_share_id: NewShareId
) -> api.AllocationResult:
    results = tuple(_result(one, features, new_share_id) for one in found)
    selected = {one.request.base_name: one.request for one in found}
    chosen = [selected.get(alternatives[0].base_name, alternatives[0]) for alternatives in claim.requests]
    is_new = features.config_of_all_requests
    config = (*_class_configurations(chosen), *_claim_configurations(claim.claim, chosen, once=is_new))
    if is_new:
        config = tuple(_without_names_of_all(each, chosen) for each in config)
    return api.AllocationResult(
        devices=api.DeviceAllocationResult(results=results, config=config),
        node_selector=_node_selector(claim, found, node_name),
    )


def _result(found: FoundDevice, features: Features, new_share_id: NewShareId) -> api.DeviceRequestAllocationResult:
    driver, pool, name = found.device.id
    request, device = found.request, found.device.device
    consumed = {name: canonical(parse(amount)) for name, amount in (found.consumed or {}).items()}
    return api.DeviceRequestAllocationResult(
        request=request.full_name,
        driver=driver,
        pool=pool,
        device=name,
        admin_access=True if request.admin_access else None,
        tolerations=request.tolerations,
        binding_conditions=device.binding_conditions if features.binding_conditions else (),
        binding_failure_conditions=device.binding_failure_conditions if features.binding_conditions else (),
        share_id=None if found.consumed is None else new_share_id(),
        consumed_capacity=dict(consumed),
    )


# -- configuration for drivers -------------------------------------------------------------------------------------------


def _class_configurations(requests: Iterable[DeviceRequirement]) -> Iterator[api.DeviceAllocationConfiguration]:
    """Yield the configuration of each class once, for all requests that use it."""
    users: dict[str, list[DeviceRequirement]] = {}
    for request in requests:
        users.setdefault(request.device_class.metadata.name, []).append(request)
    for using in users.values():
        names = tuple(request.full_name for request in using)
        for config in using[0].device_class.spec.config:
            yield api.DeviceAllocationConfiguration(source="FromClass", requests=names, opaque=config.opaque)


def _claim_configurations(
    claim: api.ResourceClaim, chosen: Sequence[DeviceRequirement], *, once: bool
) -> Iterator[api.DeviceAllocationConfiguration]:
    """Yield the claim's configurations that name no request or a chosen one: `once`, or once for
    every chosen request that they name."""
    for config in claim.spec.devices.config:
        meant = api.DeviceAllocationConfiguration(source="FromClaim", requests=config.requests, opaque=config.opaque)
        count = sum(_names(config.requests, request) for request in chosen) if config.requests else 1
        yield from [meant] * (min(count, 1) if once else count)


def _without_names_of_all(
    config: api.DeviceAllocationConfiguration, chosen: Iterable[DeviceRequirement]
) -> api.DeviceAllocationConfiguration:
    """Return the configuration without request names, which means all requests, if it names every
    chosen one."""
    is_for_all = all(_names(config.requests, request) for request in chosen)
    return msgspec.structs.replace(config, requests=()) if is_for_all else config


def _names(requests: Sequence[str], request: DeviceRequirement) -> bool:
    return request.base_name in requests or request.full_name in requests


# -- node selector of the allocation -------------------------------------------------------------------------------------


def _node_selector(claim: PreparedClaim, found: Iterable[FoundDevice], node_name: str) -> api.NodeSelector | None:
    """Return the nodes for the allocation, or None for all. Local devices limit it to one."""
    fields: list[api.NodeSelectorRequirement] = []
    expressions: list[api.NodeSelectorRequirement] = []
    for one in found:
        name, selector = _place(one)
        if name is not None or one.device.device.binds_to_node:
            return _only(node_name)
        terms = selector.node_selector_terms if selector is not None else ()
        if len(terms) > 1:
            why = f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms"
            raise AllocationFault(f"create NodeSelector for claim {claim.claim.metadata.name}: {why}")
        for term in terms:
            _add_new(term.match_fields, fields)
            _add_new(term.match_expressions, expressions)
    if not fields and not expressions:
        return None
    term = api.NodeSelectorTerm(match_expressions=tuple(expressions), match_fields=tuple(fields))
    return api.NodeSelector(node_selector_terms=(term,))


def _place(found: FoundDevice) -> tuple[str | None, api.NodeSelector | None]:
    spec, device = found.device.slice.spec, found.device.device
    if spec.per_device_node_selection:
        return device.node_name, device.node_selector
    return spec.node_name, spec.node_selector


def _only(node_name: str) -> api.NodeSelector:
    here = api.NodeSelectorRequirement(key="metadata.name", operator="In", values=(node_name,))
    return api.NodeSelector(node_selector_terms=(api.NodeSelectorTerm(match_fields=(here,)),))


def _add_new(requirements: Iterable[api.NodeSelectorRequirement], known: list[api.NodeSelectorRequirement]) -> None:
    for one in requirements:
        if not any(
            (one.key, one.operator, set(one.values)) == (other.key, other.operator, set(other.values))
            for other in known
        ):
            known.append(one)
