# SPDX-License-Identifier: Apache-2.0
"""Limit ranges: default requests and limits of containers, and bounds for explicit ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from steersman.api import (
    Container,
    LimitRange,
    LimitRangeItem,
    PersistentVolumeClaim,
    Pod,
    PodSpec,
    Quantity,
    ResourceList,
    ResourceRequirements,
    quantity,
)
from steersman.cluster.store.admission.pod_resources import limits_as_requests
from steersman.cluster.store.errors import OverLimit
from steersman.cluster.store.store import ClusterView
from steersman.framework import request_amounts

ANNOTATION: Final = "kubernetes.io/limit-ranger"
CONTAINER: Final = "Container"
POD: Final = "Pod"
CLAIM: Final = "PersistentVolumeClaim"

_replace = msgspec.structs.replace
_Check = Callable[[str, str, Quantity, ResourceList, ResourceList], str]


def limits_of(namespace: str, view: ClusterView) -> Sequence[LimitRangeItem]:
    """Return all limits of a namespace."""
    ranges = view.objects(LimitRange).values()
    return [item for known in ranges if known.metadata.namespace == namespace for item in known.spec.limits]


def with_default_resources(spec: PodSpec, limits: Sequence[LimitRangeItem]) -> tuple[PodSpec, str]:
    """Return the spec with default requests and limits, and their annotation's text."""
    notes = list[str]()
    containers, init_containers = spec.containers, spec.init_containers
    for item in limits:
        if item.type == CONTAINER:
            containers = tuple(_completed(known, item, "container", notes) for known in containers)
            init_containers = tuple(_completed(known, item, "init container", notes) for known in init_containers)
    if not notes:
        return spec, ""
    completed = _replace(spec, containers=containers, init_containers=init_containers)
    return completed, f"LimitRanger plugin set: {'; '.join(notes)}"


def check_pod(name: str, spec: PodSpec, limits: Sequence[LimitRangeItem]) -> None:
    """Raise `OverLimit` if the pod violates a bound."""
    failures = list[str]()
    for item in limits:
        if item.type == CONTAINER:
            for container in (*spec.containers, *spec.init_containers):
                failures += _failures(item, container.resources.requests, container.resources.limits)
        elif item.type == POD:
            failures += _failures(item, pod_requests(spec), pod_limits(spec))
    _refuse(Pod, name, failures)


def check_claim(claim: PersistentVolumeClaim, limits: Sequence[LimitRangeItem]) -> None:
    """Raise `OverLimit` if the claim requests less or more storage than allowed."""
    requests, failures = claim.spec.resources.requests, list[str]()
    for item in limits:
        if item.type == CLAIM:
            failures += _each(_too_small, item, item.min, requests, {})
            failures += _each(_request_too_large, item, item.max, requests, {})
    _refuse(PersistentVolumeClaim, claim.metadata.name, failures)


def pod_requests(spec: PodSpec) -> ResourceList:
    """Return the total requests of all containers."""
    amounts = request_amounts(Pod(spec=_replace(spec, overhead={})), status=False)
    return {name: quantity.canonical(amount) for name, amount in amounts.items()}


def pod_limits(spec: PodSpec) -> ResourceList:
    """Return the total limits of all containers, aggregated like requests."""
    containers = tuple(map(limits_as_requests, spec.containers))
    init_containers = tuple(map(limits_as_requests, spec.init_containers))
    of_pod = None if spec.resources is None else ResourceRequirements(requests=spec.resources.limits)
    return pod_requests(PodSpec(containers=containers, init_containers=init_containers, resources=of_pod))


def _with_defaults(item: LimitRangeItem) -> LimitRangeItem:
    if item.type != CONTAINER:
        return item
    default = {**item.max, **item.default}
    return _replace(item, default=default, default_request={**item.min, **default, **item.default_request})


def _completed(container: Container, item: LimitRangeItem, what: str, notes: list[str]) -> Container:
    resources = container.resources
    requests = {name: item.default_request[name] for name in item.default_request.keys() - resources.requests.keys()}
    limits = {name: item.default[name] for name in item.default.keys() - resources.limits.keys()}
    for added, kind in ((requests, "request"), (limits, "limit")):
        if added:
            notes.append(f"{', '.join(sorted(added))} {kind} for {what} {container.name}")
    if not requests and not limits:
        return container
    changed = _replace(resources, requests={**resources.requests, **requests}, limits={**resources.limits, **limits})
    return _replace(container, resources=changed)


def _failures(item: LimitRangeItem, requests: ResourceList, limits: ResourceList) -> Iterable[str]:
    yield from _each(_too_small, item, item.min, requests, limits)
    yield from _each(_too_large, item, item.max, requests, limits)
    yield from _each(_ratio_too_large, item, item.max_limit_request_ratio, requests, limits)


def _each(
    check: _Check, item: LimitRangeItem, bounds: ResourceList, requests: ResourceList, limits: ResourceList
) -> Iterable[str]:
    answers = (check(item.type, name, bounds[name], requests, limits) for name in sorted(bounds))
    return (answer for answer in answers if answer)


def _too_small(kind: str, name: str, bound: Quantity, requests: ResourceList, limits: ResourceList) -> str:
    text = f"minimum {name} usage per {kind} is {_text(bound)}"
    if name not in requests:
        return f"{text}.  No request is specified"
    if _less(requests[name], bound):
        return f"{text}, but request is {_text(requests[name])}"
    if name in limits and _less(limits[name], bound):
        return f"{text}, but limit is {_text(limits[name])}"
    return ""


def _too_large(kind: str, name: str, bound: Quantity, requests: ResourceList, limits: ResourceList) -> str:
    text = f"maximum {name} usage per {kind} is {_text(bound)}"
    if name not in limits:
        return f"{text}.  No limit is specified"
    if _less(bound, limits[name]):
        return f"{text}, but limit is {_text(limits[name])}"
    if name in requests and _less(bound, requests[name]):
        return f"{text}, but request is {_text(requests[name])}"
    return ""


def _request_too_large(kind: str, name: str, bound: Quantity, requests: ResourceList, _: ResourceList) -> str:
    text = f"maximum {name} usage per {kind} is {_text(bound)}"
    if name not in requests:
        return f"{text}.  No request is specified"
    return f"{text}, but request is {_text(requests[name])}" if _less(bound, requests[name]) else ""


def _ratio_too_large(kind: str, name: str, bound: Quantity, requests: ResourceList, limits: ResourceList) -> str:
    text = f"{name} max limit to request ratio per {kind} is {_text(bound)}"
    request, limit = quantity.parse_milli(requests.get(name, 0)), quantity.parse_milli(limits.get(name, 0))
    if not request:
        return f"{text}, but no request is specified or request is 0"
    if not limit:
        return f"{text}, but no limit is specified or limit is 0"
    ratio = limit / request
    return f"{text}, but provided ratio is {ratio:.6f}" if ratio * 1000 > quantity.parse_milli(bound) else ""


def _refuse(kind: type[Pod | PersistentVolumeClaim], name: str, failures: list[str]) -> None:
    different = list(dict.fromkeys(failures))
    if different:
        raise OverLimit(kind, name, different[0] if len(different) == 1 else f"[{', '.join(different)}]")


def _less(left: Quantity, right: Quantity) -> bool:
    return quantity.compare(quantity.parse(left), quantity.parse(right)) < 0


def _text(amount: Quantity) -> str:
    return quantity.canonical(quantity.parse(amount))
