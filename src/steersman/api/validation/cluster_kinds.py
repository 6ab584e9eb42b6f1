# SPDX-License-Identifier: Apache-2.0
"""Rules of Node, Namespace, PriorityClass, PodDisruptionBudget and RuntimeClass."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.api.json_values import Document, elements, part
from steersman.api.validation.checks import byte_length, immutable, label_value, parse_cidr
from steersman.api.validation.field_errors import FieldError, go_struct
from steersman.api.validation.kind_rules import KindRules
from steersman.api.validation.resources import resource_quantity, resource_requirements
from steersman.api.validation.rule_table import Rules

_AVOID_PODS: Final = "scheduler.alpha.kubernetes.io/preferAvoidPods"
_FEATURE_NAME: Final = re.compile("[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*")
_SECURITY_LEVELS: Final = ("privileged", "baseline", "restricted")
_MAX_PRIORITY: Final = 1_000_000_000
_SYSTEM_CLASSES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


# -- nodes -----------------------------------------------------------------------------------------


def _node_networks(path: str, networks: list[Any]) -> Iterator[FieldError]:
    if len(networks) < 2:
        return
    families = {found.version for value in networks if (found := parse_cidr(value)) is not None}
    wrong = next((index for index, value in enumerate(networks) if parse_cidr(value) is None), None)
    if wrong is not None:
        why = f"invalid CIDR[{wrong}]: <nil> (invalid CIDR address: {networks[wrong]})"
        yield FieldError.internal(path, f"invalid PodCIDRs. failed to check with dual stack with error:{why}")
    if wrong is not None or len(families) < 2 or len(networks) > 2:
        yield FieldError.invalid(path, networks, "may specify no more than one CIDR for each IP family")


def _node_annotations(_: str, document: Document) -> Iterator[FieldError]:
    text = part(document, "metadata", "annotations").get(_AVOID_PODS)
    if not text:
        return
    try:
        json.loads(text)
    except ValueError:
        detail = f"invalid character '{text[0]}' looking for beginning of value"
        yield FieldError.invalid("metadata.annotations.AvoidPods", _AVOID_PODS, detail)


def _taints(path: str, taints: list[Any]) -> Iterator[FieldError]:
    seen: set[tuple[Any, Any]] = set()
    for index, taint in enumerate(taints):
        where = f"{path}[{index}]"
        yield from _rules("taint", where, taint)
        identity = (taint.get("key"), taint.get("effect"))
        if identity in seen:
            shown = go_struct(taint, Key="", Value="", Effect="", TimeAdded=None)
            yield FieldError.duplicate(where, shown, "taints must be unique by key and effect pair")
        seen.add(identity)


def _joined_label_value(path: str, value: str) -> Iterator[FieldError]:
    if complaints := label_value(value):
        yield FieldError.invalid(path, value, ";".join(complaints))


def _node_resources(path: str, amounts: Mapping[str, Any]) -> Iterator[FieldError]:
    for name, value in amounts.items():
        yield from resource_quantity(name, f"{path}.{name}", value)


def _declared_features(path: str, names: list[Any]) -> Iterator[FieldError]:
    for index, name in enumerate(names):
        where, wrong = f"{path}[{index}]", f'invalid feature name "{name}": must'
        if byte_length(name) > 253:
            yield FieldError.invalid(where, name, f"{wrong} be no more than 253 characters")
        elif not _FEATURE_NAME.fullmatch(name):
            rule = (
                "start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or "
                "MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
            )
            yield FieldError.invalid(where, name, f"{wrong} {rule}")
        following = names[index + 1] if index + 1 < len(names) else None
        if following == name:
            yield FieldError.duplicate(f"{path}[{index + 1}]", name)
        elif following is not None and following < name:
            yield FieldError.invalid(f"{path}[{index + 1}]", following, "list must be sorted alphabetically")


def _node_update(document: Document, old: Document) -> Iterator[FieldError]:
    spec, before = part(document, "spec"), part(old, "spec")
    yield from _rules("node_of_any_time", "", document)
    if before.get("podCIDRs") and spec.get("podCIDRs") != before["podCIDRs"]:
        detail = 'node updates may not change podCIDR except from "" to valid'
        yield FieldError.forbidden("spec.podCIDRs", detail)
    if before.get("providerID") and spec.get("providerID") != before["providerID"]:
        detail = 'node updates may not change providerID except from "" to valid'
        yield FieldError.forbidden("spec.providerID", detail)
    yield from _taints("metadata.taints", elements(spec, "taints"))
    if (spec.get("externalID") or "") != (before.get("externalID") or ""):
        yield FieldError.forbidden("spec.externalID", "may not be updated")


# -- other kinds -----------------------------------------------------------------------------------


def _namespace(document: Document) -> Iterator[FieldError]:
    yield from list(_rules("Namespace", "", document)) or _pod_security_labels(document)


def _namespace_update(document: Document, old: Document) -> Iterator[FieldError]:
    errors = list(_pod_security_labels(document))
    yield from () if errors == list(_pod_security_labels(old)) else errors


def _pod_security_labels(document: Document) -> Iterator[FieldError]:
    labels = part(document, "metadata", "labels")
    for mode in ("enforce", "audit", "warn"):
        name, level = f"pod-security.kubernetes.io/{mode}", labels.get(f"pod-security.kubernetes.io/{mode}")
        if level is not None and level not in _SECURITY_LEVELS and not label_value(level):
            detail = f"must be one of {', '.join(_SECURITY_LEVELS)}"
            yield FieldError.invalid(f"metadata.labels[{name}]", level, detail)
        version = labels.get(f"{name}-version")
        if version is not None and not re.fullmatch("latest|v1[.](0|[1-9][0-9]*)", version):
            yield FieldError.invalid(f"metadata.labels[{name}-version]", version, 'must be "latest" or "v1.x"')


def _class_name_and_value(_: str, document: Document) -> Iterator[FieldError]:
    name, value = document["metadata"].get("name") or "", document.get("value") or 0
    if name.startswith("system-"):
        problem = _system_class_problem(name, value, bool(document.get("globalDefault")))
        if problem:
            detail = f"priority class names with 'system-' prefix are reserved for system use only. error: {problem}"
            yield FieldError.forbidden("metadata.name", detail)
    elif value > _MAX_PRIORITY:
        yield FieldError.forbidden("value", f"maximum allowed value of a user defined priority is {_MAX_PRIORITY}")


def _system_class_problem(name: str, value: int, is_default: bool) -> str:
    if name not in _SYSTEM_CLASSES:
        return f"{name} is not a known system priority class"
    if value != _SYSTEM_CLASSES[name]:
        return f"value of {name} PriorityClass must be {_SYSTEM_CLASSES[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""


def _priority_class_update(document: Document, old: Document) -> Iterator[FieldError]:
    if (document.get("value") or 0) != (old.get("value") or 0):
        yield FieldError.forbidden("value", "may not be changed in an update.")
    yield from immutable("preemptionPolicy", document.get("preemptionPolicy"), old.get("preemptionPolicy"))


def _either_budget(path: str, spec: Document) -> Iterator[FieldError]:
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        zeros = {"MinAvailable": None, "Selector": None, "MaxUnavailable": None, "UnhealthyPodEvictionPolicy": None}
        detail = "minAvailable and maxUnavailable cannot be both set"
        yield FieldError.invalid(path, go_struct(spec, **zeros), detail)


def _at_most_100_percent(path: str, value: Any) -> Iterator[FieldError]:
    if re.fullmatch("[0-9]+%", str(value)) and int(str(value)[:-1]) > 100:
        yield FieldError.invalid(path, value, "must not be greater than 100%")


def _overhead(path: str, amounts: Document) -> Iterator[FieldError]:
    yield from resource_requirements(path, {"limits": amounts}, ())


def _unique_tolerations(path: str, values: list[Any]) -> Iterator[FieldError]:
    seen: set[tuple[Any, ...]] = set()
    for index, toleration in enumerate(values):
        identity = tuple(toleration.get(name) or "" for name in ("key", "operator", "value", "effect"))
        if identity in seen:
            yield FieldError.duplicate(f"{path}[{index}]", _shown_toleration(toleration))
        seen.add(identity)


def _shown_toleration(toleration: Mapping[str, Any]) -> Any:
    return go_struct(toleration, Key="", Operator="", Value="", Effect="", TolerationSeconds=None)


_rules: Final = Rules(globals())
RULES: Final = {
    ("", "Namespace"): KindRules(_namespace, _namespace_update, has_own_update=True),
    ("", "Node"): _rules.kind("Node", validate_update=_node_update),
    ("node.k8s.io", "RuntimeClass"): _rules.kind("RuntimeClass"),
    ("policy", "PodDisruptionBudget"): _rules.kind("PodDisruptionBudget"),
    ("scheduling.k8s.io", "PriorityClass"): _rules.kind(
        "PriorityClass", validate_update=_priority_class_update, has_own_update=True
    ),
}
