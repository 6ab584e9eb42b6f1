# SPDX-License-Identifier: Apache-2.0
"""Rules of ResourceQuota and LimitRange (`core/validation`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.api import quantity
from steersman.api.json_values import Document, elements, part
from steersman.api.validation.checks import qualified_name
from steersman.api.validation.field_errors import FieldError
from steersman.api.validation.kind_rules import KindRules
from steersman.api.validation.resources import (
    amount,
    can_overcommit,
    container_resource_name,
    is_standard_quota,
    quota_resource_name,
    resource_name,
    resource_quantity,
    shown_amount,
)

_POD_SCOPES: Final = ("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity")
_COMPUTE: Final = {"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"}
_SCOPED_RESOURCES: Final = {
    **dict.fromkeys(_POD_SCOPES, _COMPUTE),
    "BestEffort": {"pods"},
    "VolumeAttributesClass": {"persistentvolumeclaims", "requests.storage"},
}
"""Scopes and the resources that they can be combined with."""
_EXCLUSIVE_SCOPES: Final = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_SELECTED_BY_VALUE: Final = ("PriorityClass", "VolumeAttributesClass")
_LIMIT_TYPES: Final = ("Container", "PersistentVolumeClaim", "Pod")


# -- quotas ----------------------------------------------------------------------------------------


def _resource_quota(document: Document) -> Iterator[FieldError]:
    spec = part(document, "spec")
    hard = part(spec, "hard")
    for name, value in hard.items():
        yield from quota_resource_name(f"spec.hard[{name}]", name)
        yield from resource_quantity(name, f"spec.hard[{name}]", value)
    scopes = elements(spec, "scopes")
    for scope in scopes:
        if scope not in _SCOPED_RESOURCES:
            yield FieldError.invalid("spec.scopes", scopes, "unsupported scope")
        yield from _scoped_resources("spec.scopes", scopes, scope, hard)
    yield from _exclusive_scopes("spec.scopes", scopes, scopes)
    selector = spec.get("scopeSelector")
    if selector is not None:
        yield from _scope_selector("spec.scopeSelector.matchExpressions", selector, hard, scopes)


def _scoped_resources(path: str, shown: Any, scope: str, hard: Mapping[str, Any]) -> Iterator[FieldError]:
    for name in sorted(hard):
        allowed = _SCOPED_RESOURCES.get(scope)
        if allowed is not None and is_standard_quota(name) and name not in allowed:
            yield FieldError.invalid(path, shown, "unsupported scope applied to resource")


def _exclusive_scopes(path: str, shown: Any, scopes: list[Any]) -> Iterator[FieldError]:
    for pair in _EXCLUSIVE_SCOPES:
        if pair <= set(scopes):
            yield FieldError.invalid(path, shown, "conflicting scopes")


def _scope_selector(path: str, selector: Any, hard: Mapping[str, Any], scopes: list[Any]) -> Iterator[FieldError]:
    expressions = elements(selector, "matchExpressions")
    shown = {
        "MatchExpressions": [
            {"ScopeName": one.get("scopeName"), "Operator": one.get("operator"), "Values": one.get("values")}
            for one in expressions
        ]
    }
    for expression in expressions:
        scope = expression.get("scopeName") or ""
        if scope not in _SCOPED_RESOURCES:
            yield FieldError.invalid(f"{path}.scopeName", scope, "unsupported scope")
        yield from _scoped_resources(path, shown, scope, hard)
        yield from _scope_operator(path, scope, expression)
    yield from _exclusive_scopes(path, scopes or None, [one.get("scopeName") for one in expressions])


def _scope_operator(path: str, scope: str, expression: Mapping[str, Any]) -> Iterator[FieldError]:
    operator, values = expression.get("operator") or "", expression.get("values") or []
    if scope in _SCOPED_RESOURCES and scope not in _SELECTED_BY_VALUE and operator != "Exists":
        detail = (
            "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
            "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
        )
        yield FieldError.invalid(f"{path}.operator", operator, detail)
    if operator in ("In", "NotIn"):
        if not values:
            detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            yield FieldError.required(f"{path}.values", detail)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            yield FieldError.invalid(f"{path}.values", values, detail)
    else:
        yield FieldError.invalid(f"{path}.operator", operator, "not a valid selector operator")


def _resource_quota_update(document: Document, old: Document) -> Iterator[FieldError]:
    scopes = elements(document, "spec", "scopes")
    if set(scopes) != set(elements(old, "spec", "scopes")):
        yield FieldError.invalid("spec.scopes", scopes or None, "field is immutable")


# -- limit ranges ----------------------------------------------------------------------------------


def _limit_range(document: Document) -> Iterator[FieldError]:
    types: set[Any] = set()
    for index, limit in enumerate(elements(document, "spec", "limits")):
        path, kind = f"spec.limits[{index}]", limit.get("type") or ""
        yield from _limit_type(f"{path}.type", kind)
        if kind in types:
            yield FieldError.duplicate(f"{path}.type", kind)
        types.add(kind)
        yield from _limit_names(path, kind, limit)
        fields = ("min", "max", "maxLimitRequestRatio", *(() if kind == "Pod" else ("default", "defaultRequest")))
        names = dict.fromkeys(name for field in fields for name in part(limit, field))
        for name in names:
            amounts = {field: limit[field][name] for field in fields if name in part(limit, field)}
            yield from _limits(path, name, amounts)


def _limit_type(path: str, kind: str) -> Iterator[FieldError]:
    complaints = qualified_name(kind)
    if not complaints and "/" not in kind and kind not in _LIMIT_TYPES:
        complaints = ["must be a standard limit type or fully qualified"]
    yield from (FieldError.invalid(path, kind, complaint) for complaint in complaints)


def _limit_names(path: str, kind: str, limit: Mapping[str, Any]) -> Iterator[FieldError]:
    check = container_resource_name if kind in ("Pod", "Container") else resource_name
    for field in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
        if kind == "Pod" and field in ("default", "defaultRequest"):
            if limit.get(field):
                yield FieldError.forbidden(f"{path}.{field}", "may not be specified when `type` is 'Pod'")
            continue
        has_storage = "storage" in part(limit, "min") or "storage" in part(limit, "max")
        if kind == "PersistentVolumeClaim" and field == "maxLimitRequestRatio" and not has_storage:
            detail = "either minimum or maximum storage value is required, but neither was provided"
            yield FieldError.required(f"{path}.limits", detail)
        for name in part(limit, field):
            yield from check(f"{path}.{field}[{name}]", name)


_ORDERED: Final = (
    # lower bound, upper bound, reported field, reported value, message
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    (
        "min",
        "defaultRequest",
        "defaultRequest",
        "defaultRequest",
        "min value {} is greater than default request value {}",
    ),
    (
        "defaultRequest",
        "max",
        "defaultRequest",
        "defaultRequest",
        "default request value {} is greater than max value {}",
    ),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "defaultRequest",
        "default request value {} is greater than default limit value {}",
    ),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)


def _limits(path: str, name: str, amounts: Mapping[str, Any]) -> Iterator[FieldError]:
    shown = {field: shown_amount(value) for field, value in amounts.items()}
    for smaller, greater, field, value, message in _ORDERED:
        if smaller in shown and greater in shown and _compare(shown[smaller], shown[greater]) > 0:
            detail = message.format(shown[smaller], shown[greater])
            yield FieldError.invalid(f"{path}.{field}[{name}]", shown[value], detail)
    if "maxLimitRequestRatio" in shown:
        yield from _ratio(f"{path}.maxLimitRequestRatio[{name}]", shown)
    request, limit = shown.get("defaultRequest"), shown.get("default")
    if request and limit and not can_overcommit(name) and _compare(request, limit):
        detail = f"default value {limit} must equal to defaultRequest value {request} in {name}"
        yield FieldError.invalid(f"{path}.defaultRequest[{name}]", request, detail)


def _compare(left: str, right: str) -> int:
    return quantity.compare(amount(left), amount(right))


def _ratio(path: str, shown: Mapping[str, str]) -> Iterator[FieldError]:
    ratio = shown["maxLimitRequestRatio"]
    if _compare(ratio, "1") < 0:
        yield FieldError.invalid(path, ratio, f"ratio {ratio} is less than 1")
    if "min" in shown and "max" in shown and quantity.sign(amount(shown["min"])):
        least, most, wanted = (quantity.milli_value(amount(text)) for text in (shown["min"], shown["max"], ratio))
        if wanted / 1000 > most / least:
            yield FieldError.invalid(path, ratio, f"ratio {ratio} is greater than max/min = {most / least:f}")


RULES: Final = {
    ("", "LimitRange"): KindRules(_limit_range),
    ("", "ResourceQuota"): KindRules(_resource_quota, _resource_quota_update),
}
