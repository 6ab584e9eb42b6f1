# SPDX-License-Identifier: Apache-2.0
"""Checks of objects from user files that an API server would otherwise have made.

Covers only what would cause crashes or silent absurdities later: quantities and unreadable
templates.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from steersman.api import codec, quantity
from steersman.api.batch import CronJob, Job, JobTemplateSpec
from steersman.api.meta import Object, Quantity, ResourceList
from steersman.api.node import Node
from steersman.api.pod import Container, Pod, PodSpec, PodTemplateSpec, ResourceRequirements
from steersman.api.storage import PersistentVolume, PersistentVolumeClaim
from steersman.api.workload import DaemonSet, Deployment, ReplicaSet, ReplicationController, StatefulSet
from steersman.base import InputError

_MAX_CORES: Final = quantity.parse("100k")
MIN_PLAUSIBLE_BYTES: Final = 4096
NEGATIVE: Final = "must be greater than or equal to 0"

_WITH_TEMPLATE: Final = (DaemonSet, Deployment, Job, ReplicaSet, ReplicationController, StatefulSet)


def check_quantities(obj: Object) -> None:
    """Raise `InputError` for the first invalid or negative quantity or an invalid template."""
    for path, resources in _resource_lists(obj):
        for name, amount in resources.items():
            if not _is_acceptable(amount):
                raise _complaint(f"{path}.{name}", amount)


def implausible(obj: Object) -> Iterator[InputError]:
    """Yield notes about valid but implausible amounts, and about nodes without resources."""
    for path, resources in _resource_lists(obj):
        for name, amount in resources.items():
            hint = _plausible(name, amount)
            if hint:
                yield InputError("is an implausible amount", field=f"{path}.{name}", value=amount, hint=hint)
    if isinstance(obj, Node) and not obj.status.allocatable and not obj.status.capacity:
        hint = "write cpu, memory and pods to status.allocatable"
        yield InputError("is missing, so that no pod fits on the node", field="status.allocatable", hint=hint)


@lru_cache(maxsize=4096)
def _plausible(resource: str, amount: Quantity) -> str:
    """Return the probable intention of an implausible amount, or ""."""
    value, text = quantity.parse(amount), str(amount)
    if resource in ("cpu", "requests.cpu", "limits.cpu") and quantity.compare(value, _MAX_CORES) >= 0:
        return _cores(value) + (f'; did you mean "{text[:-1]}m"?' if text.endswith("M") else "")
    if (
        resource in ("memory", "ephemeral-storage", "storage")
        and 0 < quantity.milli_value(value) < MIN_PLAUSIBLE_BYTES * 1000
    ):
        number = text[:-1] if text.endswith("m") else text
        meant = f'; did you mean "{number}Mi"?' if number.isdecimal() else ""
        return f"that is less than {MIN_PLAUSIBLE_BYTES:,} bytes{meant}"
    return ""


def _cores(value: quantity.Amount) -> str:
    """Return the number of cores as text, or the milli-units that kube-scheduler counts if they do
    not fit in 64 bits."""
    counted = quantity.milli_value(value)
    if quantity.compare(quantity.parse(f"{counted}m"), value) != 0:
        return f"kube-scheduler counts it as {counted}m, in 64 bits"
    return f"that is {counted // 1000:,} cores"


@lru_cache(maxsize=4096)
def _is_acceptable(amount: Quantity) -> bool:
    try:
        return quantity.sign(quantity.parse(amount)) >= 0
    except InputError:
        return False


def _complaint(field: str, amount: Quantity) -> InputError:
    try:
        quantity.parse(amount)
    except InputError as error:
        return error.located(field=field)
    return InputError(NEGATIVE, field=field, value=amount)


def _resource_lists(obj: Object) -> Iterator[tuple[str, ResourceList]]:
    if isinstance(obj, Pod):
        yield from _pod_amounts(obj.spec, "spec")
    elif isinstance(obj, Node):
        yield "status.allocatable", obj.status.allocatable
        yield "status.capacity", obj.status.capacity
    elif isinstance(obj, PersistentVolume):
        yield "spec.capacity", obj.spec.capacity
    elif isinstance(obj, PersistentVolumeClaim):
        yield "spec.resources.requests", obj.spec.resources.requests
    elif isinstance(obj, _WITH_TEMPLATE) and obj.spec.template:
        yield from _template_amounts(obj.spec.template, "spec.template")
        if isinstance(obj, StatefulSet):
            yield from _claim_amounts(obj.spec.volume_claim_templates, "spec.volumeClaimTemplates")
    elif isinstance(obj, CronJob):
        job = codec.convert_part(obj.spec.job_template, JobTemplateSpec, "spec.jobTemplate")
        yield from _template_amounts(job.spec.template, "spec.jobTemplate.spec.template")


def _template_amounts(template: dict[str, Any], path: str) -> Iterator[tuple[str, ResourceList]]:
    yield from _pod_amounts(codec.convert_part(template, PodTemplateSpec, path).spec, f"{path}.spec")


def _claim_amounts(claims: tuple[dict[str, Any], ...], path: str) -> Iterator[tuple[str, ResourceList]]:
    for index, template in enumerate(claims):
        claim = codec.convert_part(template, PersistentVolumeClaim, f"{path}[{index}]")
        yield f"{path}[{index}].spec.resources.requests", claim.spec.resources.requests


def _pod_amounts(spec: PodSpec, path: str) -> Iterator[tuple[str, ResourceList]]:
    yield from _container_amounts(spec.containers, f"{path}.containers")
    yield from _container_amounts(spec.init_containers, f"{path}.initContainers")
    yield f"{path}.overhead", spec.overhead
    if spec.resources is not None:
        yield from _requirement_amounts(spec.resources, f"{path}.resources")


def _container_amounts(containers: tuple[Container, ...], path: str) -> Iterator[tuple[str, ResourceList]]:
    for index, container in enumerate(containers):
        yield from _requirement_amounts(container.resources, f"{path}[{index}].resources")


def _requirement_amounts(requirements: ResourceRequirements, path: str) -> Iterator[tuple[str, ResourceList]]:
    yield f"{path}.requests", requirements.requests
    yield f"{path}.limits", requirements.limits
