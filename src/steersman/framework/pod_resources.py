# SPDX-License-Identifier: Apache-2.0
"""Requests of pods and offers of nodes, as integers.

The rules are the API's: containers add up, init containers run one after the other beside the sidecars started before
them, pod-level requests replace the sum, overhead comes on top, and an in-place resize counts with the greatest of what
is asked, allocated and actually used. Sums are exact; rounding up to millicores (cpu) or whole units happens last.
"""

from __future__ import annotations

from collections.abc import Mapping

from steersman.api import Container, ContainerStatus, Node, Pod, ResourceList
from steersman.api import quantity as quantities
from steersman.api.quantity import Amount

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"
#: Checked, and named in reasons, in this order; all other resources follow.
CORE_RESOURCES = (CPU, MEMORY, EPHEMERAL_STORAGE)

#: What a container that requests nothing is taken to use when nodes are scored.
DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 200 * 1024 * 1024

_HUGE_PAGES = "hugepages-"
_ATTACHABLE_VOLUMES = "attachable-volumes-"
_NATIVE_DOMAIN = "kubernetes.io/"
_REQUESTS_PREFIX = "requests."

Amounts = dict[str, Amount]
#: Minimum amounts for containers that do not name the resource.
_DEFAULTS = {CPU: quantities.parse(f"{DEFAULT_MILLI_CPU}m"), MEMORY: quantities.parse(str(DEFAULT_MEMORY))}


def pod_requests(pod: Pod, *, status: bool = True) -> dict[str, int]:
    """Everything the pod requests that the scheduler keeps account of, by resource name.

    `status` says whether an in-place resize under way counts, as it does for pods that already run.
    """
    return _rounded(request_amounts(pod, status=status))


def nonzero_requests(pod: Pod) -> tuple[int, int]:
    """(millicores, bytes) with the scoring minimum for containers that name no request."""
    asked = request_amounts(pod)
    missing = _DEFAULTS
    if pod_level_requests_set(pod):
        missing = {name: amount for name, amount in _DEFAULTS.items() if name not in asked}
    amounts = request_amounts(pod, missing=missing) if missing else asked
    return milli_value(amounts, CPU), value(amounts, MEMORY)


def scoring_requests(pod: Pod, *, with_minimum: bool, status: bool = True, pod_level: bool = True) -> dict[str, int]:
    """The requests that score plugins count: with the minimum for containers that name no request, or without; resizes under
    way and pod-level requests count or not."""
    missing = _DEFAULTS if with_minimum else {}
    amounts = request_amounts(pod, status=status, pod_level=pod_level, missing=missing)
    return {name: _rounded_amount(name, amount) for name, amount in amounts.items()}


def node_allocatable(node: Node) -> dict[str, int]:
    """The amounts that the node offers, by resource name; ``pods`` is the number of pods it takes."""
    offered = node.status.allocatable.items()
    amounts = {n: quantities.milli_value_of(a) if n == CPU else quantities.value_of(a) for n, a in offered}
    return {name: amount for name, amount in amounts.items() if is_accounted(name) or name == PODS}


def request_amounts(
    pod: Pod, *, status: bool = True, pod_level: bool = True, missing: Mapping[str, Amount] | None = None
) -> Amounts:
    """Exact requests of the whole pod. `missing` replaces what a container does not name."""
    amounts = _containers_amounts(pod, status, missing or {})
    if pod_level and pod_level_requests_set(pod):
        amounts.update(_pod_level_amounts(pod, status))
    _add(amounts, _parsed(pod.spec.overhead))
    return amounts


def pod_level_requests_set(pod: Pod) -> bool:
    return pod.spec.resources is not None and any(map(_allowed_at_pod_level, pod.spec.resources.requests))


def is_accounted(resource: str) -> bool:
    """Resources that nodes have amounts of and pods consume: cpu, memory, storage, and any scalar resource."""
    return resource in (CPU, MEMORY, EPHEMERAL_STORAGE) or is_scalar(resource)


def is_scalar(resource: str) -> bool:
    """Extended resources, huge pages, attachable volumes, and names in Kubernetes' own domain."""
    return (
        is_extended(resource) or resource.startswith((_HUGE_PAGES, _ATTACHABLE_VOLUMES)) or _NATIVE_DOMAIN in resource
    )


def is_extended(resource: str) -> bool:
    """A qualified name outside Kubernetes' own domain, for example ``nvidia.com/gpu``."""
    return "/" in resource and _NATIVE_DOMAIN not in resource and not resource.startswith(_REQUESTS_PREFIX)


def milli_value(amounts: Amounts, resource: str) -> int:
    return quantities.milli_value(amounts[resource]) if resource in amounts else 0


def value(amounts: Amounts, resource: str) -> int:
    return quantities.value(amounts[resource]) if resource in amounts else 0


def _containers_amounts(pod: Pod, status: bool, missing: Mapping[str, Amount]) -> Amounts:
    statuses = _statuses(pod) if status else {}
    resize_infeasible = bool(statuses) and _resize_infeasible(pod)
    total: Amounts = {}
    for container in pod.spec.containers:
        _add(total, _container_amounts(container, statuses, resize_infeasible, missing))
    sidecars: Amounts = {}
    initial: Amounts = {}
    for container in pod.spec.init_containers:
        if container.restart_policy == "Always":
            own = _container_amounts(container, statuses, resize_infeasible, missing)
            _add(total, own)
            _add(sidecars, own)
            _raise_to(initial, sidecars)
        else:
            own = _container_amounts(container, {}, resize_infeasible, missing)
            _add(own, sidecars)
            _raise_to(initial, own)
    _raise_to(total, initial)
    return total


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


def _pod_level_amounts(pod: Pod, status: bool) -> Amounts:
    assert pod.spec.resources is not None
    asked = {n: a for n, a in _parsed(pod.spec.resources.requests).items() if _allowed_at_pod_level(n)}
    if not status or pod.status.resources is None:
        return asked
    used = pod.status.resources.requests
    effective = _effective(
        _parsed(pod.spec.resources.requests), used, pod.status.allocated_resources, _resize_infeasible(pod)
    )
    return {name: effective.get(name, quantities.parse(0)) for name in asked}


def _effective(asked: Amounts, used: ResourceList, allocated: ResourceList, infeasible: bool) -> Amounts:
    """The greatest of the three; what was asked does not count once a resize was found infeasible."""
    greatest = {} if infeasible else dict(asked)
    _raise_to(greatest, _parsed(used))
    _raise_to(greatest, _parsed(allocated))
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


def _raise_to(total: Amounts, least: Mapping[str, Amount]) -> None:
    for name, amount in least.items():
        if name not in total or quantities.compare(amount, total[name]) > 0:
            total[name] = amount


def _rounded(amounts: Amounts) -> dict[str, int]:
    return {n: _rounded_amount(n, a) for n, a in amounts.items() if is_accounted(n)}


def _rounded_amount(resource: str, amount: Amount) -> int:
    return quantities.milli_value(amount) if resource == CPU else quantities.value(amount)
