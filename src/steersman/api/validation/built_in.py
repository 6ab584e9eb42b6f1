# SPDX-License-Identifier: Apache-2.0
"""Rules of built-in kinds beyond their types: those that users of kubectl meet, in the words of a kube-apiserver.

Pod templates, selectors that match their templates, and fields that an update must not change; metadata is in `object_names`.
Decoding comes before (`strict_decoding`), defaults may be filled in before or after: an absent field is never a change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from steersman.api import codec, quantity
from steersman.api.json_values import Document, elements, is_same, part
from steersman.api.meta import LabelSelector
from steersman.api.selectors import from_label_selector
from steersman.api.validation.field_errors import FieldError
from steersman.api.validation.kind_rules import KindRules, Validate
from steersman.api.validation.metadata import label_problems, name_problems
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

# -- pods and their templates --------------------------------------------------------------------------------------------


def _pod(document: Document) -> Iterator[FieldError]:
    yield from _pod_spec(part(document, "spec"), "spec")


def _pod_spec(spec: Mapping[str, Any], path: str, claims: Iterable[str] = ()) -> Iterator[FieldError]:
    volumes = {*claims, *(str(volume.get("name")) for volume in elements(spec, "volumes"))}
    containers, init_containers = elements(spec, "containers"), elements(spec, "initContainers")
    if not containers:
        yield FieldError.required(f"{path}.containers")
    seen: set[str] = set()
    for name, listed in (("containers", containers), ("initContainers", init_containers)):
        for index, container in enumerate(listed):
            yield from _container(container, f"{path}.{name}[{index}]", volumes, seen)


def _container(container: Mapping[str, Any], path: str, volumes: set[str], seen: set[str]) -> Iterator[FieldError]:
    name = str(container.get("name") or "")
    if not name:
        yield FieldError.required(f"{path}.name")
    else:
        yield from name_problems(name, f"{path}.name", is_label=True)
        if name in seen:
            yield FieldError.duplicate(f"{path}.name", name)
        seen.add(name)
    if not container.get("image"):
        yield FieldError.required(f"{path}.image")
    for index, port in enumerate(elements(container, "ports")):
        yield from _port(port, f"{path}.ports[{index}]")
    for index, mount in enumerate(elements(container, "volumeMounts")):
        if str(mount.get("name")) not in volumes:
            yield FieldError.not_found(f"{path}.volumeMounts[{index}].name", str(mount.get("name")))
    yield from _resources(part(container, "resources"), f"{path}.resources")


def _port(port: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    number = port.get("containerPort") or 0
    if not number:
        yield FieldError.required(f"{path}.containerPort")
    elif not 1 <= number <= 65535:
        yield FieldError.invalid(f"{path}.containerPort", number, "must be between 1 and 65535, inclusive")


def _resources(resources: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    limits = part(resources, "limits")
    for name, amount in part(resources, "requests").items():
        if name in limits and _is_more(amount, limits[name]):
            detail = f"must be less than or equal to {name} limit of {limits[name]}"
            yield FieldError.invalid(f"{path}.requests", str(amount), detail)


def _is_more(left: Any, right: Any) -> bool:
    try:
        return quantity.compare(quantity.parse(left), quantity.parse(right)) > 0
    except InputError:
        return False


# -- workloads -----------------------------------------------------------------------------------------------------------


def _workload(name: str) -> Validate:
    def check(document: Document) -> Iterator[FieldError]:
        spec = part(document, "spec")
        yield from _not_negative(spec, "replicas")
        yield from _selector(spec, name)
        yield from _template(spec)
        if _restart_policy(spec) != "Always":
            yield FieldError.not_supported("spec.template.spec.restartPolicy", _restart_policy(spec), ("Always",))

    return check


def _not_negative(spec: Mapping[str, Any], *names: str) -> Iterator[FieldError]:
    for name in names:
        value = spec.get(name)
        if isinstance(value, int) and value < 0:
            yield FieldError.invalid(f"spec.{name}", value, "must be greater than or equal to 0")


def _selector(spec: Mapping[str, Any], name: str) -> Iterator[FieldError]:
    selector = spec.get("selector")
    if selector is None:
        yield FieldError.required("spec.selector")
    elif not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield FieldError.invalid("spec.selector", selector, f"empty selector is invalid for {name}")
    elif not _selects(selector, part(spec, "template", "metadata", "labels")):
        labels = part(spec, "template", "metadata", "labels")
        detail = "`selector` does not match template `labels`"
        yield FieldError.invalid("spec.template.metadata.labels", labels or None, detail)


def _selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    try:
        return from_label_selector(codec.convert(selector, LabelSelector)).matches(labels)
    except InputError:
        return True


def _template(spec: Mapping[str, Any]) -> Iterator[FieldError]:
    template = part(spec, "template")
    yield from label_problems(part(template, "metadata").get("labels"), "spec.template.labels")
    claims = [str(part(claim, "metadata").get("name")) for claim in elements(spec, "volumeClaimTemplates")]
    yield from _pod_spec(part(template, "spec"), "spec.template.spec", claims)


def _restart_policy(spec: Mapping[str, Any]) -> str:
    return str(part(spec, "template", "spec").get("restartPolicy") or "Always")


def _job(document: Document) -> Iterator[FieldError]:
    spec = part(document, "spec")
    yield from _not_negative(spec, "parallelism", "completions", "backoffLimit", "activeDeadlineSeconds")
    yield from _template(spec)
    if _restart_policy(spec) not in ("OnFailure", "Never"):
        yield FieldError.required("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')


# -- updates -------------------------------------------------------------------------------------------------------------


def is_changed(new: Any, old: Any) -> bool:
    """Whether an update changes a value. What it leaves out has its default, or is about to get it."""
    if isinstance(new, dict) and isinstance(old, dict):
        return any(name not in old or is_changed(value, old[name]) for name, value in new.items())
    if isinstance(new, list) and isinstance(old, list):
        return len(new) != len(old) or any(map(is_changed, new, old))
    return not is_same(new, old)


def _same_selector(document: Document, old: Document) -> Iterator[FieldError]:
    yield from _immutable(part(document, "spec"), part(old, "spec"), "selector", "spec.selector")


def _immutable(new: Mapping[str, Any], old: Mapping[str, Any], name: str, field: str) -> Iterator[FieldError]:
    if name in new and is_changed(new[name], old.get(name)):
        yield FieldError.invalid(field, new[name], IMMUTABLE)


def _same_job(document: Document, old: Document) -> Iterator[FieldError]:
    new_spec, old_spec = part(document, "spec"), part(old, "spec")
    for name in ("completions", "selector", "template", "completionMode"):
        yield from _immutable(new_spec, old_spec, name, f"spec.{name}")


def _same_stateful_set(document: Document, old: Document) -> Iterator[FieldError]:
    fixed = ("serviceName", "selector", "volumeClaimTemplates", "podManagementPolicy")
    new_spec, old_spec = part(document, "spec"), part(old, "spec")
    if any(name in new_spec and is_changed(new_spec[name], old_spec.get(name)) for name in fixed):
        detail = f"updates to statefulset spec for fields other than {_STATEFUL_SET_FIELDS} are forbidden"
        yield FieldError.forbidden("spec", detail)


def _same_pod(document: Document, old: Document) -> Iterator[FieldError]:
    new_spec, old_spec = part(document, "spec"), part(old, "spec")
    for name in ("containers", "initContainers"):
        if name in new_spec and len(elements(new_spec, name)) != len(elements(old_spec, name)):
            yield FieldError.forbidden(f"spec.{name}", "pod updates may not add or remove containers")
            return
    if is_changed(_fixed_pod_spec(new_spec), _fixed_pod_spec(old_spec)):
        yield FieldError.forbidden("spec", f"pod updates may not change fields other than {_POD_FIELDS}")


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


def _same_priority(document: Document, old: Document) -> Iterator[FieldError]:
    if document.get("value", 0) != old.get("value", 0):
        yield FieldError.forbidden("value", "may not be changed in an update.")
    yield from _immutable(document, old, "preemptionPolicy", "preemptionPolicy")


def _same_configuration(document: Document, old: Document) -> Iterator[FieldError]:
    if old.get("immutable"):
        for name in ("data", "binaryData"):
            if not is_same(document.get(name) or {}, old.get(name) or {}):
                yield FieldError.forbidden(name, "field is immutable when `immutable` is set")
    if document.get("kind") == "Secret":
        yield from _immutable(document, old, "type", "type")


RULES: Final[Mapping[tuple[str, str], KindRules]] = {
    ("", "Pod"): KindRules(_pod, _same_pod),
    ("", "ConfigMap"): KindRules(validate_update=_same_configuration),
    ("", "Secret"): KindRules(validate_update=_same_configuration),
    ("apps", "Deployment"): KindRules(_workload("deployment"), _same_selector),
    ("apps", "ReplicaSet"): KindRules(_workload("replicaset"), _same_selector),
    ("apps", "StatefulSet"): KindRules(_workload("statefulset"), _same_stateful_set),
    ("apps", "DaemonSet"): KindRules(_workload("daemonset"), _same_selector),
    ("batch", "Job"): KindRules(_job, _same_job),
    ("scheduling.k8s.io", "PriorityClass"): KindRules(validate_update=_same_priority),
}
