# SPDX-License-Identifier: Apache-2.0
"""Pod-level resources, completed from the containers', and the resulting QoS class."""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import Container, Pod, PodSpec, ResourceList, ResourceRequirements, quantity
from steersman.cluster.store.admission.containers import with_rounded_amounts
from steersman.framework import CPU, MEMORY, Amounts, request_amounts

_HUGE_PAGES: Final = "hugepages-"
#: Resources that determine the QoS class.
_COUNTED: Final = ("cpu", "memory")

_replace = msgspec.structs.replace


def completed(spec: PodSpec) -> PodSpec:
    """Return the spec with complete pod-level resources; unchanged if it has none."""
    stated = spec.resources
    if stated is None or not (stated.limits or stated.requests):
        return spec
    resources = _with_huge_page_limits(stated, spec)
    if resources.limits:
        resources = _with_requests(resources, spec)
    resources = with_rounded_amounts(resources)
    return spec if resources is stated else _replace(spec, resources=resources)


def _with_huge_page_limits(stated: ResourceRequirements, spec: PodSpec) -> ResourceRequirements:
    """Add the containers' huge page limits that the pod does not specify."""
    limits = {
        name: quantity.canonical(amount)
        for name, amount in _container_limits(spec).items()
        if name.startswith(_HUGE_PAGES) and name not in stated.requests and name not in stated.limits
    }
    return _replace(stated, limits=stated.limits | limits) if limits else stated


def _with_requests(stated: ResourceRequirements, spec: PodSpec) -> ResourceRequirements:
    """Add missing requests: the total of the containers' requests, else the pod's limit."""
    requests: ResourceList = dict(stated.requests)
    for name, amount in _container_requests(spec).items():
        if name in (CPU, MEMORY):
            requests.setdefault(name, quantity.canonical(amount))
    for name, limit in stated.limits.items():
        if name in (CPU, MEMORY) or name.startswith(_HUGE_PAGES):
            requests.setdefault(name, limit)
    return stated if requests == stated.requests else _replace(stated, requests=requests)


def _container_requests(spec: PodSpec) -> Amounts:
    alone = PodSpec(containers=spec.containers, init_containers=spec.init_containers)
    return request_amounts(Pod(spec=alone), status=False)


def _container_limits(spec: PodSpec) -> Amounts:
    """Return the total limits of the containers, aggregated like requests."""
    containers = tuple(map(limits_as_requests, spec.containers))
    init_containers = tuple(map(limits_as_requests, spec.init_containers))
    return _container_requests(PodSpec(containers=containers, init_containers=init_containers))


def limits_as_requests(container: Container) -> Container:
    """Return the container with its limits as requests."""
    return _replace(container, resources=ResourceRequirements(requests=container.resources.limits))


# -- quality of service ----------------------------------------------------------------------------


def qos_class(pod: Pod) -> str:
    """Return Guaranteed, Burstable or BestEffort, by requests and limits of cpu and memory. An API
    server sets it on new pods, and kubelets report it."""
    spec = pod.spec
    given = [container.resources for container in (*spec.containers, *spec.init_containers)]
    parts = [spec.resources] if spec.resources is not None and _counts(spec.resources) else given
    if not any(_counts(part) for part in parts):
        return "BestEffort"
    return "Guaranteed" if all(_is_guaranteed(part) for part in parts) else "Burstable"


def _counts(part: ResourceRequirements) -> bool:
    return any(
        name in _COUNTED and quantity.parse_milli(amount) > 0
        for amounts in (part.requests, part.limits)
        for name, amount in amounts.items()
    )


def _is_guaranteed(part: ResourceRequirements) -> bool:
    return all(
        name in part.limits
        and quantity.parse_milli(part.limits[name]) > 0
        and quantity.parse_milli(part.requests.get(name, part.limits[name])) == quantity.parse_milli(part.limits[name])
        for name in _COUNTED
    )
