# SPDX-License-Identifier: Apache-2.0
"""Rules of HorizontalPodAutoscalers (`autoscaling/validation`); v1 is converted to v2 first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.api import quantity
from steersman.api.json_values import Document, elements, part
from steersman.api.validation.checks import each, one_of
from steersman.api.validation.field_errors import FieldError
from steersman.api.validation.kind_rules import KindRules
from steersman.api.validation.resources import amount, shown_amount
from steersman.api.validation.rule_table import Rules

_SOURCES: Final = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_SECTIONS: Final = {
    "object": "object_metric",
    "external": "external_metric",
    "pods": "pods_metric",
    "resource": "resource_metric",
    "containerResource": "container_metric",
}
"""Sections of the table by metric source, in upstream's order."""


def _autoscaler(document: Document) -> Iterator[FieldError]:
    yield from _autoscaler_spec(part(document, "spec"), checks_target=True)


def _autoscaler_update(document: Document, old: Document) -> Iterator[FieldError]:
    """Yield the errors of an update; a target of unchanged kind and API version is not checked."""
    new, before = (part(one, "spec", "scaleTargetRef") for one in (document, old))
    is_same_kind = all(new.get(name) == before.get(name) for name in ("apiVersion", "kind"))
    yield from _autoscaler_spec(part(document, "spec"), checks_target=not is_same_kind)


def _autoscaler_spec(spec: Mapping[str, Any], *, checks_target: bool) -> Iterator[FieldError]:
    yield from _rules("autoscaler", "spec", spec)
    target = part(spec, "scaleTargetRef")
    if checks_target:
        needs_group = target.get("kind") != "ReplicationController"
        yield from _api_version("spec.scaleTargetRef", target, needs_group=needs_group)
    metrics = _cpu_metrics(spec) or elements(spec, "metrics")
    yield from each(_metric)("spec.metrics", metrics)
    if spec.get("minReplicas") == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield FieldError.forbidden("spec.metrics", detail)
    yield from _rules("scaling_behavior", "spec", spec)


def _max_replicas(path: str, spec: Mapping[str, Any]) -> Iterator[FieldError]:
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if least is not None and most < least:
        yield FieldError.invalid(f"{path}.maxReplicas", most, "must be greater than or equal to `minReplicas`")


def _cpu_metrics(spec: Mapping[str, Any]) -> list[Any]:
    """Return the metrics that are equivalent to the CPU target of autoscaling/v1."""
    percentage = spec.get("targetCPUUtilizationPercentage")
    target = {"type": "Utilization", "averageUtilization": percentage}
    return [] if percentage is None else [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]


def _api_version(path: str, reference: Mapping[str, Any], *, needs_group: bool = False) -> Iterator[FieldError]:
    version = str(reference.get("apiVersion") or "")
    if version.count("/") > 1:
        yield FieldError.invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    elif needs_group and not version.rpartition("/")[0]:
        yield FieldError.invalid(f"{path}.apiVersion", version, "apiVersion must specify API group")


def _metric(path: str, metric: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from _rules("metric", path, metric)
    present = [name for name in _SECTIONS if metric.get(name) is not None]
    if present:
        yield from _rules(_SECTIONS[present[0]], f"{path}.{present[0]}", metric[present[0]])
    expected = _SOURCES.get(metric.get("type") or "")
    if expected is None:
        yield from one_of(*_SOURCES)(f"{path}.type", metric.get("type") or "")
    elif metric.get(expected) is None:
        detail = "must populate information for the given metric source"
        yield FieldError.required(f"{path}.{expected}", detail)
    if len(present) != 1:
        for name in present:
            if name != expected:
                yield FieldError.forbidden(f"{path}.{name}", "must populate the given metric source only")


def _positive_target(path: str, value: Any) -> Iterator[FieldError]:
    if quantity.sign(amount(value)) < 1:
        yield FieldError.invalid(path, shown_amount(value), "must be positive")


_rules: Final = Rules(globals())
RULES: Final = {
    ("autoscaling", "HorizontalPodAutoscaler"): KindRules(_autoscaler, _autoscaler_update, has_own_update=True)
}
