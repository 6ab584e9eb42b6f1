# SPDX-License-Identifier: Apache-2.0
"""Rules of Pods and PodTemplates, including updates through subresources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.api import quantity
from steersman.api.json_values import Document, elements, part
from steersman.api.validation.checks import MAX_INT32, range_error
from steersman.api.validation.containers import trimmed_image
from steersman.api.validation.field_errors import FieldError, json_diff
from steersman.api.validation.kind_rules import KindRules
from steersman.api.validation.node_selectors import narrowed_node_affinity, narrowed_node_selector, tolerations
from steersman.api.validation.pod_spec import (
    APP_ARMOR,
    MIRROR_POD,
    matching_profiles,
    pod_annotations,
    pod_spec,
    pod_template,
)
from steersman.api.validation.resources import amount
from steersman.api.validation.semantic_equality import is_equal

_UPDATABLE: Final = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions "
    "to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_CONTAINERS: Final = ("containers", "initContainers")
_RESIZABLE: Final = ("cpu", "memory")
_ONLY_RESIZABLE: Final = "only cpu and memory resources are mutable"


def _pod(document: Document) -> Iterator[FieldError]:
    """Yield the errors of a new or changed pod."""
    metadata, spec = part(document, "metadata"), part(document, "spec")
    yield from pod_annotations("metadata.annotations", part(metadata, "annotations"), spec)
    yield from pod_spec("spec", spec, metadata)
    if not spec.get("serviceAccountName"):
        yield from _tokens_without_account(spec)
    for name in _CONTAINERS:
        for index, container in enumerate(elements(spec, name)):
            yield from trimmed_image(f"spec.{name}[{index}]", container)


def _tokens_without_account(spec: Document) -> Iterator[FieldError]:
    for index, volume in enumerate(elements(spec, "volumes")):
        for number, source in enumerate(elements(volume, "projected", "sources")):
            if source.get("serviceAccountToken") is not None:
                path = f"spec.volumes[{index}].projected.sources[{number}].serviceAccountToken"
                yield FieldError.forbidden(path, "must not be specified when serviceAccountName is not set")


def _new_pod(document: Document) -> Iterator[FieldError]:
    spec = part(document, "spec")
    yield from _pod(document)
    if elements(spec, "ephemeralContainers"):
        yield FieldError.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and elements(spec, "schedulingGates"):
        yield FieldError.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")
    yield from matching_profiles("spec", part(document, "metadata"), spec)


# -- updates ---------------------------------------------------------------------------------------


def _changed_pod(document: Document, old: Document) -> Iterator[FieldError]:
    yield from _pod(document)
    yield from _annotation_changes(part(document, "metadata", "annotations"), part(old, "metadata", "annotations"))
    yield from _spec_changes(part(document, "spec"), part(old, "spec"))


def _annotation_changes(new: Mapping[str, str], old: Mapping[str, str]) -> Iterator[FieldError]:
    for key in {**old, **new}:
        if new.get(key) == old.get(key) or not (key == MIRROR_POD or key.startswith(APP_ARMOR)):
            continue
        verb = "remove or update" if key in old else "add"
        what = "mirror pod annotation" if key == MIRROR_POD else "AppArmor annotations"
        yield FieldError.forbidden(f"metadata.annotations[{key}]", f"may not {verb} {what}")


def _spec_changes(new: Document, old: Document) -> Iterator[FieldError]:
    for name in _CONTAINERS:
        if len(elements(new, name)) != len(elements(old, name)):
            yield FieldError.forbidden(f"spec.{name}", "pod updates may not add or remove containers")
            return
        for index, container in enumerate(elements(new, name)):
            if not container.get("image"):
                yield FieldError.required(f"spec.{name}[{index}].image")
            yield from trimmed_image(f"spec.{name}[{index}]", container)
    deadline = list(_deadline_changes(new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")))
    yield from deadline
    if deadline and new.get("activeDeadlineSeconds") is not None:
        return
    yield from _added_tolerations(elements(new, "tolerations"), elements(old, "tolerations"))
    yield from _removed_gates(elements(new, "schedulingGates"), elements(old, "schedulingGates"))
    if elements(old, "schedulingGates"):
        yield from _narrowed(new, old)
    fixed = _fixed(new, old)
    if not is_equal(fixed, old):
        detail = f"pod updates may not change fields other than {_UPDATABLE}\n{json_diff(old, fixed)}"
        yield FieldError.forbidden("spec", detail)


def _deadline_changes(new: int | None, old: int | None) -> Iterator[FieldError]:
    path = "spec.activeDeadlineSeconds"
    if new is None:
        if old is not None:
            yield FieldError.invalid(path, None, "must not update from a positive integer to nil value")
    elif not 0 <= new <= MAX_INT32:
        yield FieldError.invalid(path, new, range_error(0, MAX_INT32))
    elif old is not None and old < new:
        yield FieldError.invalid(path, new, "must be less than or equal to previous value")


def _added_tolerations(new: list[Any], old: list[Any]) -> Iterator[FieldError]:
    def identity(toleration: Document) -> tuple[Any, ...]:
        return tuple(toleration.get(name) or "" for name in ("key", "operator", "value", "effect"))

    kept = set(map(identity, new))
    if any(identity(toleration) not in kept for toleration in old):
        detail = "existing toleration can not be modified except its tolerationSeconds"
        yield FieldError.forbidden("spec.tolerations", detail)
    else:
        yield from tolerations("spec.tolerations", new)


def _removed_gates(new: list[Any], old: list[Any]) -> Iterator[FieldError]:
    known = {gate.get("name") for gate in old}
    for index, gate in enumerate(new):
        if gate.get("name") not in known:
            detail = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            yield FieldError.forbidden(f"spec.schedulingGates[{index}].name", detail)


def _narrowed(new: Document, old: Document) -> Iterator[FieldError]:
    yield from narrowed_node_selector("spec.nodeSelector", part(new, "nodeSelector"), part(old, "nodeSelector"))
    new_affinity, old_affinity = part(new, "affinity", "nodeAffinity"), part(old, "affinity", "nodeAffinity")
    yield from narrowed_node_affinity("spec.affinity.nodeAffinity", new_affinity, old_affinity)


def _fixed(new: Document, old: Document) -> Document:
    """Return the new spec with old values of fields that may change or have their own checks."""
    fixed = dict(new)
    names = ["activeDeadlineSeconds", "schedulingGates", "tolerations"]
    if (old.get("terminationGracePeriodSeconds") or 0) < 0 and new.get("terminationGracePeriodSeconds") == 1:
        names.append("terminationGracePeriodSeconds")
    if elements(old, "schedulingGates"):
        names.append("nodeSelector")
        affinity = {**part(new, "affinity"), "nodeAffinity": part(old, "affinity").get("nodeAffinity")}
        fixed["affinity"] = {name: value for name, value in affinity.items() if value is not None}
    fixed |= {name: old.get(name) for name in names}
    # The Priority admission plugin restores fields that an update omits.
    fixed |= {name: old.get(name) for name in ("priority", "preemptionPolicy") if new.get(name) is None}
    for name in _CONTAINERS:
        pairs = zip(elements(new, name), elements(old, name), strict=True)
        fixed[name] = [{**container, "image": before.get("image")} for container, before in pairs]
    return fixed


# -- subresources ----------------------------------------------------------------------------------


def _changed_ephemeral_containers(document: Document, old: Document) -> Iterator[FieldError]:
    """Yield the errors of an `ephemeralcontainers` update, which may only add containers."""
    if MIRROR_POD in part(old, "metadata", "annotations"):
        yield FieldError.forbidden("", "static pods do not support ephemeral containers")
        return
    yield from _pod(document)
    yield from _annotation_changes(part(document, "metadata", "annotations"), part(old, "metadata", "annotations"))
    found = {container.get("name"): container for container in elements(document, "spec", "ephemeralContainers")}
    for container in elements(old, "spec", "ephemeralContainers"):
        name = container.get("name")
        if name not in found or not is_equal(found[name], container):
            verb = "changed" if name in found else "removed"
            detail = f'existing ephemeral containers "{name}" may not be {verb}\n'
            yield FieldError.forbidden("spec.ephemeralContainers", detail)


def _resized(document: Document, old: Document) -> Iterator[FieldError]:
    """Yield the errors of a `resize` update, which may change but not remove CPU and memory."""
    new_spec, old_spec = part(document, "spec"), part(old, "spec")
    what = "static" if MIRROR_POD in part(old, "metadata", "annotations") else ""
    what = what or ("windows" if part(old_spec, "os").get("name") == "windows" else "")
    if what:
        yield FieldError.forbidden("", f"{what} pods cannot be resized")
        return
    errors = [*_pod(document), *_resize_conditions(document, old), *_resized_pod(new_spec, old_spec)]
    order = list(_container_order(new_spec, old_spec))
    yield from [*errors, *order]
    if order:
        return
    changes = list(_resized_containers(new_spec, old_spec))
    yield from changes
    if not errors and not changes and not is_equal(_without_amounts(new_spec), _without_amounts(old_spec)):
        yield FieldError.forbidden("spec", _ONLY_RESIZABLE)


def _resize_conditions(document: Document, old: Document) -> Iterator[FieldError]:
    before = part(old, "status").get("qosClass") or _quality_of_service(part(old, "spec"))
    if before != _quality_of_service(part(document, "spec")):
        yield FieldError.invalid("spec", before, "Pod QOS Class may not change as a result of resizing")
    for status in elements(old, "status", "containerStatuses"):
        if part(status, "state").get("running") is not None:
            if status.get("resources") is None:
                yield FieldError.forbidden("spec", "Pod running on node without support for resize")
            break
    if elements(old, "status", "nodeAllocatableResourceClaimStatuses"):
        yield FieldError.forbidden("spec", "pods with node allocatable resource claims cannot be resized")


def _quality_of_service(spec: Document) -> str:
    """Return the QoS class by the resources of the pod, or else by those of its containers."""
    holders = (
        [spec]
        if spec.get("resources") is not None
        else [*elements(spec, "containers"), *elements(spec, "initContainers")]
    )
    amounts = [
        tuple(
            {
                name: amount(value)
                for name, value in part(holder, "resources", kind).items()
                if name in _RESIZABLE and quantity.sign(amount(value)) > 0
            }
            for kind in ("requests", "limits")
        )
        for holder in holders
    ]
    if not any(requests or limits for requests, limits in amounts):
        return "BestEffort"
    is_guaranteed = all(
        len(limits) == len(requests) == len(_RESIZABLE)
        and all(quantity.compare(requests[name], limits[name]) == 0 for name in _RESIZABLE)
        for requests, limits in amounts
    )
    return "Guaranteed" if is_guaranteed else "Burstable"


def _resized_pod(new: Document, old: Document) -> Iterator[FieldError]:
    """Yield the errors of changed pod-level resources."""
    if old.get("resources") is not None and new.get("resources") is None:
        yield FieldError.forbidden("spec.resources", "pod-level resources cannot be removed")
        return
    yield from _removed_amounts("spec", new, old, "pod-level resource")
    if not is_equal(_without_resizable(new).get("resources"), _without_resizable(old).get("resources")):
        yield FieldError.forbidden("spec", f"{_ONLY_RESIZABLE} at pod-level")


def _container_order(new: Document, old: Document) -> Iterator[FieldError]:
    for name in _CONTAINERS:
        if len(elements(new, name)) != len(elements(old, name)):
            yield FieldError.forbidden(f"spec.{name}", f"{name} may not be added or removed on resize")
            continue
        for index, (container, before) in enumerate(zip(elements(new, name), elements(old, name), strict=True)):
            if container.get("name") != before.get("name"):
                detail = f"{name} may not be renamed or reordered on resize"
                yield FieldError.forbidden(f"spec.{name}[{index}].name", detail)


def _resized_containers(new: Document, old: Document) -> Iterator[FieldError]:
    pairs = {name: list(zip(elements(new, name), elements(old, name), strict=True)) for name in _CONTAINERS}
    for name in ("initContainers", "containers"):
        for index, (container, before) in enumerate(pairs[name]):
            yield from _removed_amounts(f"spec.{name}[{index}]", container, before, "resource")
    for container, before in pairs["containers"]:
        if not is_equal(_without_resizable(container), _without_resizable(before)):
            yield FieldError.forbidden("spec", _ONLY_RESIZABLE)
    for index, (container, before) in enumerate(pairs["initContainers"]):
        place = f"spec.initContainers[{index}]"
        if not is_equal(_without_resizable(container), _without_resizable(before)):
            detail = "only cpu and memory resources for init or sidecar containers are mutable"
            yield FieldError.forbidden(place, detail)
        restarts = [policy.get("restartPolicy") for policy in elements(container, "resizePolicy")]
        is_fixed = container.get("restartPolicy") != "Always" and "RestartContainer" in restarts
        if is_fixed and not is_equal(container, before):
            detail = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
            yield FieldError.forbidden(place, detail)


def _removed_amounts(path: str, new: Document, old: Document, what: str) -> Iterator[FieldError]:
    for kind in ("requests", "limits"):
        if part(old, "resources", kind).keys() - part(new, "resources", kind).keys():
            yield FieldError.forbidden(f"{path}.resources.{kind}", f"{what} {kind} cannot be removed")


def _without_amounts(spec: Document) -> Document:
    """Return a pod spec without the resources that a resize may change."""
    containers = {name: [_without_resizable(value) for value in elements(spec, name)] for name in _CONTAINERS}
    return {**_without_resizable(spec), **containers}


def _without_resizable(holder: Document) -> Document:
    """Return a container or pod spec without CPU and memory resources, and without claims."""
    amounts = {
        kind: {name: value for name, value in part(holder, "resources", kind).items() if name not in _RESIZABLE}
        for kind in ("requests", "limits")
    }
    return {**holder, "resources": amounts}


def _pod_template(document: Document) -> Iterator[FieldError]:
    yield from pod_template("template", part(document, "template"))


RULES: Final[Mapping[tuple[str, str], KindRules]] = {
    ("", "Pod"): KindRules(
        _new_pod,
        _changed_pod,
        has_own_update=True,
        subresources={"ephemeralcontainers": _changed_ephemeral_containers, "resize": _resized},
    ),
    ("", "PodTemplate"): KindRules(_pod_template),
}
