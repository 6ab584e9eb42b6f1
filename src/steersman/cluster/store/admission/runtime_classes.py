# SPDX-License-Identifier: Apache-2.0
"""Runtime classes: pod overhead and node selection.

A pod with a missing class is admitted unchanged unless classes are required: dumps and manifests
often lack them.
"""

from __future__ import annotations

import msgspec

from steersman.api import Pod, PodSpec, RuntimeClass, Toleration, quantity
from steersman.cluster.store.errors import Forbidden, ForbiddenAfterValidation
from steersman.cluster.store.store import ClusterView

_replace = msgspec.structs.replace


def with_runtime_class(pod_name: str, spec: PodSpec, view: ClusterView, *, is_required: bool) -> PodSpec:
    """Return the spec with overhead, node selector and tolerations of its class. Raises `Forbidden`
    if the spec contradicts them."""
    if spec.runtime_class_name is None:
        if is_required and spec.overhead:
            why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            raise ForbiddenAfterValidation(Pod, pod_name, why)
        return spec
    found = view.find(RuntimeClass, spec.runtime_class_name)
    if found is None:
        if is_required:
            raise Forbidden(Pod, pod_name, f'pod rejected: RuntimeClass "{spec.runtime_class_name}" not found')
        return spec
    return _with_scheduling(pod_name, _with_overhead(pod_name, spec, found), found)


def _with_overhead(pod_name: str, spec: PodSpec, found: RuntimeClass) -> PodSpec:
    if found.overhead is None:
        return spec
    overhead = found.overhead.pod_fixed
    if spec.overhead and not _equal(spec.overhead, overhead):
        why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        raise Forbidden(Pod, pod_name, why)
    return _replace(spec, overhead=overhead)


def _with_scheduling(pod_name: str, spec: PodSpec, found: RuntimeClass) -> PodSpec:
    scheduling = found.scheduling
    if scheduling is None:
        return spec
    for name, value in scheduling.node_selector.items():
        own = spec.node_selector.get(name, value)
        if own != value:
            parts = f"runtimeClass.scheduling.nodeSelector[{name}] = {value}; pod.spec.nodeSelector[{name}] = {own}"
            raise Forbidden(Pod, pod_name, f"conflict: {parts}")
    tolerations = _merged((*spec.tolerations, *scheduling.tolerations))
    return _replace(spec, node_selector={**spec.node_selector, **scheduling.node_selector}, tolerations=tolerations)


def _merged(tolerations: tuple[Toleration, ...]) -> tuple[Toleration, ...]:
    """Remove tolerations that another one covers; of equal ones keep the first."""
    merged = list[Toleration]()
    for place, toleration in enumerate(tolerations):
        others = (*merged, *tolerations[place + 1 :])
        later = tolerations[place + 1 :]
        if any(_covers(known, toleration) for known in others if known != toleration):
            continue
        if toleration in merged or (toleration in later and toleration in merged):
            continue
        merged.append(toleration)
    return tuple(merged)


def _covers(wide: Toleration, narrow: Toleration) -> bool:
    """Return whether `wide` tolerates everything that `narrow` does."""
    if wide.key and wide.key != narrow.key:
        return False
    if wide.effect and wide.effect != narrow.effect:
        return False
    if wide.toleration_seconds is not None:
        seconds = narrow.toleration_seconds
        if seconds is None or seconds > wide.toleration_seconds:
            return False
    if wide.operator in ("", "Equal"):
        return narrow.operator in ("", "Equal") and narrow.value == wide.value
    return wide.operator == "Exists"


def _equal(left: dict[str, str | int | float], right: dict[str, str | int | float]) -> bool:
    if left.keys() != right.keys():
        return False
    return all(not quantity.compare(quantity.parse(left[name]), quantity.parse(right[name])) for name in left)
