# SPDX-License-Identifier: Apache-2.0
"""Rules of HorizontalPodAutoscalers (`autoscaling/validation`); v1 is converted to v2 first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.api import quantity
from steersman.api.json_values import Document, elements, part
from steersman.api.validation.checks import (
    Check,
    at_least,
    check_fields,
    each,
    name_label,
    one_of,
    path_segment_name,
    required,
    with_format,
)
from steersman.api.validation.field_errors import FieldError
from steersman.api.validation.kind_rules import KindRules
from steersman.api.validation.resources import amount, container_resource_name, non_negative_quantity, shown_amount

_SEGMENT: Final = with_format(path_segment_name)
_REFERENCE: Final = {"kind": required(_SEGMENT), "name": required(_SEGMENT)}
_SOURCES: Final = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_METRIC_NAME: Final[Mapping[str, Check]] = {"metric.name": required(_SEGMENT, "must specify a metric name")}
_RESOURCE_NAME: Final = "must specify a resource name"
_SELECT_POLICY: Final = one_of("Disabled", "Max", "Min")
_MAX_PERIOD: Final = 1800
_MAX_WINDOW: Final = 3600


def _autoscaler(document: Document) -> Iterator[FieldError]:
    yield from _autoscaler_spec(part(document, "spec"), checks_target=True)


def _autoscaler_update(document: Document, old: Document) -> Iterator[FieldError]:
    """Yield the errors of an update; a target of unchanged kind and API version is not checked."""
    new, before = (part(one, "spec", "scaleTargetRef") for one in (document, old))
    is_same_kind = all(new.get(name) == before.get(name) for name in ("apiVersion", "kind"))
    yield from _autoscaler_spec(part(document, "spec"), checks_target=not is_same_kind)


def _autoscaler_spec(spec: Mapping[str, Any], *, checks_target: bool) -> Iterator[FieldError]:
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if least is not None:
        yield from at_least(1)("spec.minReplicas", least)
    if not most:
        yield FieldError.required("spec.maxReplicas", "must be set and greater than 0")
    yield from at_least(1)("spec.maxReplicas", most) if most else ()
    if least is not None and most < least:
        yield FieldError.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    target = part(spec, "scaleTargetRef")
    yield from check_fields(target, _REFERENCE, "spec.scaleTargetRef")
    if checks_target:
        needs_group = target.get("kind") != "ReplicationController"
        yield from _api_version("spec.scaleTargetRef.apiVersion", target, needs_group=needs_group)
    metrics = _cpu_metrics(spec) or elements(spec, "metrics")
    yield from each(_metric)("spec.metrics", metrics)
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield FieldError.forbidden("spec.metrics", detail)
    for direction in ("scaleUp", "scaleDown"):
        rules = part(spec, "behavior").get(direction)
        yield from () if rules is None else _scaling_rules(f"spec.behavior.{direction}", rules)


def _cpu_metrics(spec: Mapping[str, Any]) -> list[Any]:
    """Return the metrics that are equivalent to the CPU target of autoscaling/v1."""
    percentage = spec.get("targetCPUUtilizationPercentage")
    target = {"type": "Utilization", "averageUtilization": percentage}
    return [] if percentage is None else [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]


def _api_version(path: str, reference: Mapping[str, Any], *, needs_group: bool = False) -> Iterator[FieldError]:
    version = str(reference.get("apiVersion") or "")
    if version.count("/") > 1:
        yield FieldError.invalid(path, version, f"unexpected GroupVersion string: {version}")
    elif needs_group and not version.rpartition("/")[0]:
        yield FieldError.invalid(path, version, "apiVersion must specify API group")


def _metric(path: str, metric: Mapping[str, Any]) -> Iterator[FieldError]:
    kind = metric.get("type") or ""
    if not kind:
        yield FieldError.required(f"{path}.type", "must specify a metric source type")
    yield from one_of(*_SOURCES)(f"{path}.type", kind)
    present = [name for name in _CHECKS if metric.get(name) is not None]
    if present:
        yield from _CHECKS[present[0]](f"{path}.{present[0]}", metric[present[0]])
    expected = _SOURCES.get(kind)
    if expected is None:
        yield from one_of(*_SOURCES)(f"{path}.type", kind)
    elif metric.get(expected) is None:
        detail = "must populate information for the given metric source"
        yield FieldError.required(f"{path}.{expected}", detail)
    if len(present) != 1:
        for name in present:
            if name != expected:
                yield FieldError.forbidden(f"{path}.{name}", "must populate the given metric source only")


def _object(path: str, source: Mapping[str, Any]) -> Iterator[FieldError]:
    described = part(source, "describedObject")
    yield from check_fields(described, _REFERENCE, f"{path}.describedObject")
    yield from _api_version(f"{path}.describedObject.apiVersion", described)
    yield from _metric_and_target(path, source)
    target = part(source, "target")
    if target.get("value") is None and target.get("averageValue") is None:
        detail = "must set either a target value or averageValue"
        yield FieldError.required(f"{path}.target.averageValue", detail)


def _external(path: str, source: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from _metric_and_target(path, source)
    target = part(source, "target")
    if target.get("value") is None and target.get("averageValue") is None:
        detail = "must set either a target value for metric or a per-pod target"
        yield FieldError.required(f"{path}.target.averageValue", detail)
    if target.get("value") is not None and target.get("averageValue") is not None:
        detail = "may not set both a target value for metric and a per-pod target"
        yield FieldError.forbidden(f"{path}.target.value", detail)


def _pods(path: str, source: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from _metric_and_target(path, source)
    if part(source, "target").get("averageValue") is None:
        yield FieldError.required(f"{path}.target.averageValue", "must specify a positive target averageValue")


def _metric_and_target(path: str, source: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from check_fields({"metric": {}, **source}, _METRIC_NAME, path)
    yield from _target(f"{path}.target", part(source, "target"))


def _container_resource(path: str, source: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from required(container_resource_name, _RESOURCE_NAME)(f"{path}.name", source.get("name"))
    yield from required(name_label, "must specify a container")(f"{path}.container", source.get("container"))
    yield from _resource_target(f"{path}.target", part(source, "target"))


def _resource(path: str, source: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from required(detail=_RESOURCE_NAME)(f"{path}.name", source.get("name"))
    yield from _resource_target(f"{path}.target", part(source, "target"))


def _resource_target(path: str, target: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from _target(path, target)
    utilization, value = target.get("averageUtilization"), target.get("averageValue")
    if utilization is None and value is None:
        detail = "must set either a target raw value or a target utilization"
        yield FieldError.required(f"{path}.averageUtilization", detail)
    if utilization is not None and value is not None:
        detail = "may not set both a target raw value and a target utilization"
        yield FieldError.forbidden(f"{path}.averageValue", detail)


def _target(path: str, target: Mapping[str, Any]) -> Iterator[FieldError]:
    kind, utilization = target.get("type") or "", target.get("averageUtilization")
    if not kind:
        yield FieldError.required(f"{path}.type", "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        yield FieldError.invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue")
    for name in ("value", "averageValue"):
        if target.get(name) is not None and quantity.sign(amount(target[name])) < 1:
            yield FieldError.invalid(f"{path}.{name}", shown_amount(target[name]), "must be positive")
    if utilization is not None and utilization < 1:
        yield FieldError.invalid(f"{path}.averageUtilization", utilization, "must be greater than 0")


_CHECKS: Final[Mapping[str, Check]] = {
    "object": _object,
    "external": _external,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container_resource,
}
"""Checks by metric source, in upstream's order."""


def _scaling_rules(path: str, rules: Mapping[str, Any]) -> Iterator[FieldError]:
    window, field = rules.get("stabilizationWindowSeconds") or 0, f"{path}.stabilizationWindowSeconds"
    if window < 0:
        yield FieldError.invalid(field, window, "must be greater than or equal to zero")
    if window > _MAX_WINDOW:
        yield FieldError.invalid(field, window, f"must be less than or equal to {_MAX_WINDOW}")
    if rules.get("selectPolicy") is not None:
        yield from _SELECT_POLICY(f"{path}.selectPolicy", rules["selectPolicy"])
    yield from required(each(_scaling_policy), "must specify at least one Policy")(
        f"{path}.policies", rules.get("policies")
    )
    if rules.get("tolerance") is not None:
        yield from non_negative_quantity(f"{path}.tolerance", rules["tolerance"])


def _scaling_policy(path: str, policy: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from one_of("Percent", "Pods")(f"{path}.type", policy.get("type") or "")
    period = policy.get("periodSeconds") or 0
    for name in ("value", "periodSeconds"):
        if (policy.get(name) or 0) <= 0:
            yield FieldError.invalid(f"{path}.{name}", policy.get(name) or 0, "must be greater than zero")
    if period > _MAX_PERIOD:
        detail = f"must be less than or equal to {_MAX_PERIOD}"
        yield FieldError.invalid(f"{path}.periodSeconds", period, detail)


RULES: Final = {
    ("autoscaling", "HorizontalPodAutoscaler"): KindRules(_autoscaler, _autoscaler_update, has_own_update=True)
}
