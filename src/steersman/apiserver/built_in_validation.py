# SPDX-License-Identifier: Apache-2.0
"""Rules of built-in kinds beyond their types: those that users of kubectl meet, in the words of a kube-apiserver.

Pod templates, selectors that match their templates, and fields that an update must not change; metadata is in `object_names`.
Decoding comes before (`strict_decoding`), defaults may be filled in before or after: an absent field is never a change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from steersman.api import codec, quantity
from steersman.api.meta import LabelSelector
from steersman.api.selectors import from_label_selector
from steersman.apiserver.field_problems import FieldProblem
from steersman.apiserver.object_names import label_problems, name_problems
from steersman.apiserver.table_layouts import elements, part
from steersman.apiserver.typed_documents import is_same
from steersman.embedded.documents import Document
from steersman.errors import InputError

IMMUTABLE: Final = "field is immutable"
_POD_FIELDS: Final = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions "
    "to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_STATEFUL_SET_FIELDS: Final = (
    "'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
    "'minReadySeconds'"
)

Check = Callable[[Document], Iterator[FieldProblem]]
UpdateCheck = Callable[[Document, Document], Iterator[FieldProblem]]


def problems_of_built_in(document: Document, old: Document | None = None) -> list[FieldProblem]:
    """The problems of an object that is created, or that replaces `old`."""
    kind = str(document.get("kind", ""))
    check = _CHECKS.get(kind)
    problems = [] if check is None else list(check(document))
    update_check = _UPDATE_CHECKS.get(kind)
    if old is not None and update_check is not None:
        problems += update_check(document, old)
    return problems


# -- pods and their templates --------------------------------------------------------------------------------------------


def _pod(document: Document) -> Iterator[FieldProblem]:
    yield from _pod_spec(part(document, "spec"), "spec")


def _pod_spec(spec: Mapping[str, Any], path: str, claims: Iterable[str] = ()) -> Iterator[FieldProblem]:
    volumes = {*claims, *(str(volume.get("name")) for volume in elements(spec, "volumes"))}
    containers, init_containers = elements(spec, "containers"), elements(spec, "initContainers")
    if not containers:
        yield FieldProblem.required(f"{path}.containers")
    seen: set[str] = set()
    for name, listed in (("containers", containers), ("initContainers", init_containers)):
        for index, container in enumerate(listed):
            yield from _container(container, f"{path}.{name}[{index}]", volumes, seen)


def _container(container: Mapping[str, Any], path: str, volumes: set[str], seen: set[str]) -> Iterator[FieldProblem]:
    name = str(container.get("name") or "")
    if not name:
        yield FieldProblem.required(f"{path}.name")
    else:
        yield from name_problems(name, f"{path}.name", is_label=True)
        if name in seen:
            yield FieldProblem.duplicate(f"{path}.name", name)
        seen.add(name)
    if not container.get("image"):
        yield FieldProblem.required(f"{path}.image")
    for index, port in enumerate(elements(container, "ports")):
        yield from _port(port, f"{path}.ports[{index}]")
    for index, mount in enumerate(elements(container, "volumeMounts")):
        if str(mount.get("name")) not in volumes:
            yield FieldProblem.not_found(f"{path}.volumeMounts[{index}].name", str(mount.get("name")))
    yield from _resources(part(container, "resources"), f"{path}.resources")


def _port(port: Mapping[str, Any], path: str) -> Iterator[FieldProblem]:
    number = port.get("containerPort") or 0
    if not number:
        yield FieldProblem.required(f"{path}.containerPort")
    elif not 1 <= number <= 65535:
        yield FieldProblem.invalid(f"{path}.containerPort", number, "must be between 1 and 65535, inclusive")


def _resources(resources: Mapping[str, Any], path: str) -> Iterator[FieldProblem]:
    limits = part(resources, "limits")
    for name, amount in part(resources, "requests").items():
        if name in limits and _is_more(amount, limits[name]):
            detail = f"must be less than or equal to {name} limit of {limits[name]}"
            yield FieldProblem.invalid(f"{path}.requests", str(amount), detail)


def _is_more(left: Any, right: Any) -> bool:
    try:
        return quantity.compare(quantity.parse(left), quantity.parse(right)) > 0
    except InputError:
        return False


# -- workloads -----------------------------------------------------------------------------------------------------------


def _workload(name: str) -> Check:
    def check(document: Document) -> Iterator[FieldProblem]:
        spec = part(document, "spec")
        yield from _not_negative(spec, "replicas")
        yield from _selector(spec, name)
        yield from _template(spec)
        if _restart_policy(spec) != "Always":
            yield FieldProblem.not_supported("spec.template.spec.restartPolicy", _restart_policy(spec), ("Always",))

    return check


def _not_negative(spec: Mapping[str, Any], *names: str) -> Iterator[FieldProblem]:
    for name in names:
        value = spec.get(name)
        if isinstance(value, int) and value < 0:
            yield FieldProblem.invalid(f"spec.{name}", value, "must be greater than or equal to 0")


def _selector(spec: Mapping[str, Any], name: str) -> Iterator[FieldProblem]:
    selector = spec.get("selector")
    if selector is None:
        yield FieldProblem.required("spec.selector")
    elif not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield FieldProblem.invalid("spec.selector", selector, f"empty selector is invalid for {name}")
    elif not _selects(selector, part(spec, "template", "metadata", "labels")):
        labels = part(spec, "template", "metadata", "labels")
        detail = "`selector` does not match template `labels`"
        yield FieldProblem.invalid("spec.template.metadata.labels", labels or None, detail)


def _selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    try:
        return from_label_selector(codec.convert(selector, LabelSelector)).matches(labels)
    except InputError:
        return True


def _template(spec: Mapping[str, Any]) -> Iterator[FieldProblem]:
    template = part(spec, "template")
    yield from label_problems(part(template, "metadata").get("labels"), "spec.template.labels")
    claims = [str(part(claim, "metadata").get("name")) for claim in elements(spec, "volumeClaimTemplates")]
    yield from _pod_spec(part(template, "spec"), "spec.template.spec", claims)


def _restart_policy(spec: Mapping[str, Any]) -> str:
    return str(part(spec, "template", "spec").get("restartPolicy") or "Always")


def _job(document: Document) -> Iterator[FieldProblem]:
    spec = part(document, "spec")
    yield from _not_negative(spec, "parallelism", "completions", "backoffLimit", "activeDeadlineSeconds")
    yield from _template(spec)
    if _restart_policy(spec) not in ("OnFailure", "Never"):
        yield FieldProblem.required("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')


# -- updates -------------------------------------------------------------------------------------------------------------


def is_changed(new: Any, old: Any) -> bool:
    """Whether an update changes a value. What it leaves out has its default, or is about to get it."""
    if isinstance(new, dict) and isinstance(old, dict):
        return any(name not in old or is_changed(value, old[name]) for name, value in new.items())
    if isinstance(new, list) and isinstance(old, list):
        return len(new) != len(old) or any(map(is_changed, new, old))
    return not is_same(new, old)


def _same_selector(document: Document, old: Document) -> Iterator[FieldProblem]:
    yield from _immutable(part(document, "spec"), part(old, "spec"), "selector", "spec.selector")


def _immutable(new: Mapping[str, Any], old: Mapping[str, Any], name: str, field: str) -> Iterator[FieldProblem]:
    if name in new and is_changed(new[name], old.get(name)):
        yield FieldProblem.invalid(field, new[name], IMMUTABLE)


def _same_job(document: Document, old: Document) -> Iterator[FieldProblem]:
    new_spec, old_spec = part(document, "spec"), part(old, "spec")
    for name in ("completions", "selector", "template", "completionMode"):
        yield from _immutable(new_spec, old_spec, name, f"spec.{name}")


def _same_stateful_set(document: Document, old: Document) -> Iterator[FieldProblem]:
    fixed = ("serviceName", "selector", "volumeClaimTemplates", "podManagementPolicy")
    new_spec, old_spec = part(document, "spec"), part(old, "spec")
    if any(name in new_spec and is_changed(new_spec[name], old_spec.get(name)) for name in fixed):
        detail = f"updates to statefulset spec for fields other than {_STATEFUL_SET_FIELDS} are forbidden"
        yield FieldProblem.forbidden("spec", detail)


def _same_pod(document: Document, old: Document) -> Iterator[FieldProblem]:
    new_spec, old_spec = part(document, "spec"), part(old, "spec")
    for name in ("containers", "initContainers"):
        if name in new_spec and len(elements(new_spec, name)) != len(elements(old_spec, name)):
            yield FieldProblem.forbidden(f"spec.{name}", "pod updates may not add or remove containers")
            return
    if is_changed(_fixed_pod_spec(new_spec), _fixed_pod_spec(old_spec)):
        yield FieldProblem.forbidden("spec", f"pod updates may not change fields other than {_POD_FIELDS}")


def _fixed_pod_spec(spec: Mapping[str, Any]) -> Document:
    """The fields of a pod that an update may not change. Gates may be removed, and a gated pod may still be narrowed down."""
    free = {
        "activeDeadlineSeconds",
        "tolerations",
        "terminationGracePeriodSeconds",
        "schedulingGates",
        "ephemeralContainers",
    }
    if elements(spec, "schedulingGates"):
        free |= {"nodeSelector", "affinity"}
    fixed = {name: value for name, value in spec.items() if name not in free}
    for name in ("containers", "initContainers"):
        if name in fixed:
            fixed[name] = [_without(container, "image") for container in elements(spec, name)]
    return fixed


def _without(value: Mapping[str, Any], name: str) -> Document:
    return {key: member for key, member in value.items() if key != name}


def _same_priority(document: Document, old: Document) -> Iterator[FieldProblem]:
    if document.get("value", 0) != old.get("value", 0):
        yield FieldProblem.forbidden("value", "may not be changed in an update.")
    yield from _immutable(document, old, "preemptionPolicy", "preemptionPolicy")


def _same_configuration(document: Document, old: Document) -> Iterator[FieldProblem]:
    if old.get("immutable"):
        for name in ("data", "binaryData"):
            if not is_same(document.get(name) or {}, old.get(name) or {}):
                yield FieldProblem.forbidden(name, "field is immutable when `immutable` is set")
    if document.get("kind") == "Secret":
        yield from _immutable(document, old, "type", "type")


_CHECKS: Final[Mapping[str, Check]] = {
    "Pod": _pod,
    "Deployment": _workload("deployment"),
    "ReplicaSet": _workload("replicaset"),
    "StatefulSet": _workload("statefulset"),
    "DaemonSet": _workload("daemonset"),
    "Job": _job,
}
_UPDATE_CHECKS: Final[Mapping[str, UpdateCheck]] = {
    "Pod": _same_pod,
    "Deployment": _same_selector,
    "ReplicaSet": _same_selector,
    "DaemonSet": _same_selector,
    "StatefulSet": _same_stateful_set,
    "Job": _same_job,
    "PriorityClass": _same_priority,
    "ConfigMap": _same_configuration,
    "Secret": _same_configuration,
}
