# SPDX-License-Identifier: Apache-2.0
"""Requests of pods and allocatable amounts of nodes, as integers.

The rules are the API's: containers are summed, init containers run one after the other beside the
sidecars started before them, pod-level requests replace the sum, and overhead is added. An in-place
resize counts with the maximum of requested, allocated and used amounts: container by container up
to v1.36, of the pod's totals since v1.37 (`by_totals`). Sums are exact; they are rounded up to
millicores (cpu) or whole units at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from steersman.api import Amount, Container, ContainerStatus, Node, Pod, ResourceList, quantity as quantities

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"
#: Resources that are checked, and named in reasons, in this order; all others follow.
CORE_RESOURCES = (CPU, MEMORY, EPHEMERAL_STORAGE)

#: Assumed requests of containers that request nothing, for scoring.
DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 200 * 1024 * 1024

_HUGE_PAGES = "hugepages-"
_ATTACHABLE_VOLUMES = "attachable-volumes-"
_NATIVE_DOMAIN = "kubernetes.io/"
_REQUESTS_PREFIX = "requests."

Amounts = dict[str, Amount]
#: Minimum amounts for containers that do not request the resource.
_DEFAULTS = {CPU: quantities.parse(f"{DEFAULT_MILLI_CPU}m"), MEMORY: quantities.parse(str(DEFAULT_MEMORY))}


def pod_requests(pod: Pod, *, status: bool = True, by_totals: bool = False) -> dict[str, int]:
    """Return the pod's requests by resource name.

    `status` says whether an in-place resize in progress counts, as it does for running pods.
    """
    return _rounded(request_amounts(pod, status=status, by_totals=by_totals))


def nonzero_requests(pod: Pod, *, by_totals: bool = False) -> tuple[int, int]:
    """Return (millicores, bytes) with the scoring minimum for containers without a request."""
    requested = request_amounts(pod, by_totals=by_totals)
    missing = _DEFAULTS
    if pod_level_requests_set(pod):
        missing = {name: amount for name, amount in _DEFAULTS.items() if name not in requested}
    amounts = request_amounts(pod, missing=missing, by_totals=by_totals) if missing else requested
    return milli_value(amounts, CPU), value(amounts, MEMORY)


def scoring_requests(
    pod: Pod, *, with_minimum: bool, status: bool = True, pod_level: bool = True, by_totals: bool = False
) -> dict[str, int]:
    """Return the requests as score plugins count them: optionally with the minimum for containers
    without a request, with resizes in progress, and with pod-level requests."""
    missing = _DEFAULTS if with_minimum else {}
    amounts = request_amounts(pod, status=status, pod_level=pod_level, missing=missing, by_totals=by_totals)
    return {name: _rounded_amount(name, amount) for name, amount in amounts.items()}


def node_allocatable(node: Node) -> dict[str, int]:
    """Return the allocatable amounts by resource name; ``pods`` is the maximum number of pods."""
    offered = node.status.allocatable.items()
    amounts = {n: quantities.milli_value_of(a) if n == CPU else quantities.value_of(a) for n, a in offered}
    return {name: amount for name, amount in amounts.items() if is_accounted(name) or name == PODS}


def request_amounts(
    pod: Pod,
    *,
    status: bool = True,
    pod_level: bool = True,
    missing: Mapping[str, Amount] | None = None,
    by_totals: bool = False,
) -> Amounts:
    """Return the exact requests of the whole pod. `missing` has amounts for resources that a
    container does not request."""
    containers = _greatest_total if by_totals and status and _may_be_resized(pod) else _containers_amounts
    amounts = containers(pod, status, missing or {})
    if pod_level and pod_level_requests_set(pod):
        amounts.update(_pod_level_amounts(pod, status, by_totals))
    _add(amounts, _parsed(pod.spec.overhead))
    return amounts


def pod_level_requests_set(pod: Pod) -> bool:
    return pod.spec.resources is not None and any(map(_allowed_at_pod_level, pod.spec.resources.requests))


def is_accounted(resource: str) -> bool:
    """Return whether nodes offer and pods consume the resource: cpu, memory, storage, and any
    scalar resource."""
    return resource in (CPU, MEMORY, EPHEMERAL_STORAGE) or is_scalar(resource)


def is_scalar(resource: str) -> bool:
    """Return whether this is an extended resource, huge pages, attachable volumes, or in
    Kubernetes' own domain."""
    return (
        is_extended(resource) or resource.startswith((_HUGE_PAGES, _ATTACHABLE_VOLUMES)) or _NATIVE_DOMAIN in resource
    )


def is_extended(resource: str) -> bool:
    """Return whether this is a qualified name outside Kubernetes' own domain, for example
    ``nvidia.com/gpu``."""
    return "/" in resource and _NATIVE_DOMAIN not in resource and not resource.startswith(_REQUESTS_PREFIX)


def milli_value(amounts: Amounts, resource: str) -> int:
    return quantities.milli_value(amounts[resource]) if resource in amounts else 0


def value(amounts: Amounts, resource: str) -> int:
    return quantities.value(amounts[resource]) if resource in amounts else 0


def _containers_amounts(pod: Pod, status: bool, missing: Mapping[str, Amount]) -> Amounts:
    statuses = _statuses(pod) if status else {}
    resize_infeasible = bool(statuses) and _resize_infeasible(pod)

    def amounts_of(container: Container, is_sequential: bool) -> Amounts:
        known = {} if is_sequential else statuses
        return _container_amounts(container, known, resize_infeasible, missing)

    return _aggregated(pod, amounts_of)


def _aggregated(pod: Pod, amounts_of: Callable[[Container, bool], Amounts]) -> Amounts:
    """Return the total of the containers. `amounts_of` is called with a container and whether it is
    an init container that ends before the next one starts."""
    total: Amounts = {}
    for container in pod.spec.containers:
        _add(total, amounts_of(container, False))
    sidecars: Amounts = {}
    initial: Amounts = {}
    for container in pod.spec.init_containers:
        is_sidecar = container.restart_policy == "Always"
        own = dict(amounts_of(container, not is_sidecar))
        if is_sidecar:
            _add(total, own)
            _add(sidecars, own)
            quantities.raise_to(initial, sidecars)
        else:
            _add(own, sidecars)
            quantities.raise_to(initial, own)
    quantities.raise_to(total, initial)
    return total


def _may_be_resized(pod: Pod) -> bool:
    """Return whether the requests in the status may differ from the requests in the spec."""
    status = pod.status
    return bool(
        status.container_statuses
        or status.init_container_statuses
        or status.resources is not None
        or status.allocated_resources
        or _resize_infeasible(pod)
    )


def _greatest_total(pod: Pod, _: bool, missing: Mapping[str, Amount]) -> Amounts:
    """Return the greatest of the totals of spec, allocated and actual requests; an infeasible
    resize leaves out the spec."""
    resize_infeasible = _resize_infeasible(pod)
    statuses = _statuses(pod)

    def total_of(requests_of: Callable[[Container, ContainerStatus | None], ResourceList]) -> Amounts:
        def amounts_of(container: Container, _: bool) -> Amounts:
            amounts = _parsed(requests_of(container, statuses.get(container.name)))
            return {**missing, **amounts}

        return _aggregated(pod, amounts_of)

    def spec(container: Container, _: ContainerStatus | None) -> ResourceList:
        return container.resources.requests

    def allocated(container: Container, status: ContainerStatus | None) -> ResourceList:
        if status is not None and status.allocated_resources:
            return status.allocated_resources
        return {} if resize_infeasible else container.resources.requests

    def actual(container: Container, status: ContainerStatus | None) -> ResourceList:
        if status is not None and status.resources is not None and status.resources.requests:
            return status.resources.requests
        return allocated(container, status)

    greatest: Amounts = {} if resize_infeasible else total_of(spec)
    used = pod.status.resources.requests if pod.status.resources is not None else {}
    if used and pod.status.allocated_resources:
        quantities.raise_to(greatest, _parsed(used))
        quantities.raise_to(greatest, _parsed(pod.status.allocated_resources))
    else:
        quantities.raise_to(greatest, total_of(actual))
        quantities.raise_to(greatest, total_of(allocated))
    return greatest


def _container_amounts(
    container: Container, statuses: Mapping[str, ContainerStatus], infeasible: bool, missing: Mapping[str, Amount]
) -> Amounts:
    amounts = _parsed(container.resources.requests)
    status = statuses.get(container.name)
    if status is not None and status.resources is not None:
        amounts = _effective(amounts, status.resources.requests, status.allocated_resources, infeasible)
    for name, amount in missing.items():
        amounts.setdefault(name, amount)
    return amounts


def _pod_level_amounts(pod: Pod, status: bool, by_totals: bool) -> Amounts:
    assert pod.spec.resources is not None
    requested = {n: a for n, a in _parsed(pod.spec.resources.requests).items() if _allowed_at_pod_level(n)}
    if not status or pod.status.resources is None:
        return requested
    used = pod.status.resources.requests
    effective = _effective(
        _parsed(pod.spec.resources.requests), used, pod.status.allocated_resources, _resize_infeasible(pod)
    )
    if by_totals:
        return {name: amount for name, amount in effective.items() if _allowed_at_pod_level(name)}
    return {name: effective.get(name, quantities.parse(0)) for name in requested}


def _effective(requested: Amounts, used: ResourceList, allocated: ResourceList, infeasible: bool) -> Amounts:
    """Return the maximum of the three; the request does not count once a resize was found
    infeasible."""
    greatest = {} if infeasible else dict(requested)
    quantities.raise_to(greatest, _parsed(used))
    quantities.raise_to(greatest, _parsed(allocated))
    return greatest


def _statuses(pod: Pod) -> dict[str, ContainerStatus]:
    return {s.name: s for s in (*pod.status.container_statuses, *pod.status.init_container_statuses)}


def _resize_infeasible(pod: Pod) -> bool:
    pending = next((c for c in pod.status.conditions if c.type == "PodResizePending"), None)
    return pending is not None and pending.reason == "Infeasible"


def _allowed_at_pod_level(resource: str) -> bool:
    return resource in (CPU, MEMORY) or resource.startswith(_HUGE_PAGES)


def _parsed(resources: ResourceList) -> Amounts:
    return {name: quantities.parse(amount) for name, amount in resources.items()}


def _add(total: Amounts, more: Mapping[str, Amount]) -> None:
    for name, amount in more.items():
        total[name] = quantities.add(total[name], amount) if name in total else amount


def _rounded(amounts: Amounts) -> dict[str, int]:
    return {n: _rounded_amount(n, a) for n, a in amounts.items() if is_accounted(n)}


def _rounded_amount(resource: str, amount: Amount) -> int:
    return quantities.milli_value(amount) if resource == CPU else quantities.value(amount)
