# SPDX-License-Identifier: Apache-2.0
"""Checks of resource names and quantities (`core/validation`, `core/helper`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from steersman.api import label_syntax, quantity
from steersman.api.json_values import elements, part
from steersman.api.validation.checks import NEGATIVE, NOT_AN_INTEGER, NOT_POSITIVE, Check, label_key, name_label
from steersman.api.validation.field_errors import FieldError
from steersman.base import InputError

HUGE_PAGES: Final = "hugepages-"
_NATIVE: Final = "kubernetes.io/"
_REQUESTS: Final = "requests."
_STANDARD_CONTAINER: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_OBJECT_COUNTS: Final = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_STANDARD_QUOTA: Final = _OBJECT_COUNTS | {
    f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in _STANDARD_CONTAINER
} | {"requests.storage"}  # fmt: skip
_STANDARD: Final = _STANDARD_QUOTA | {"storage"}
_MAX_SHOWN_CLAIMS: Final = 100
_POD_LEVEL: Final = frozenset({"cpu", "memory"})


def is_huge_pages(name: str) -> bool:
    return name.startswith(HUGE_PAGES)


def is_native(name: str) -> bool:
    return "/" not in name or _NATIVE in name


def is_extended(name: str) -> bool:
    return not is_native(name) and not name.startswith(_REQUESTS) and not label_syntax.key_errors(f"{_REQUESTS}{name}")


def is_integer(name: str) -> bool:
    """Return whether quantities of the resource must be integers."""
    return name in _OBJECT_COUNTS or is_extended(name)


def can_overcommit(name: str) -> bool:
    return is_native(name) and not is_huge_pages(name)


def is_standard_quota(name: str) -> bool:
    return name in _STANDARD_QUOTA or _is_quota_huge_pages(name)


def _is_quota_huge_pages(name: str) -> bool:
    return name.startswith((HUGE_PAGES, f"{_REQUESTS}{HUGE_PAGES}"))


def resource_name(path: str, name: str) -> Iterator[FieldError]:
    errors = list(label_key(path, name))
    yield from errors
    if not errors and "/" not in name and name not in _STANDARD and not _is_quota_huge_pages(name):
        yield FieldError.invalid(path, name, "must be a standard resource type or fully qualified")


def container_resource_name(path: str, name: str) -> Iterator[FieldError]:
    yield from resource_name(path, name)
    if "/" not in name:
        if name not in _STANDARD_CONTAINER and not is_huge_pages(name):
            yield FieldError.invalid(path, name, "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        yield FieldError.invalid(path, name, "doesn't follow extended resource name standard")


def pod_resource_name(path: str, name: str) -> Iterator[FieldError]:
    """Yield the errors of a resource name in pod-level resources."""
    errors = list(resource_name(path, name))
    yield from errors
    if not errors and name not in _POD_LEVEL and not is_huge_pages(name):
        yield FieldError.not_supported(path, name, ("cpu", HUGE_PAGES, "memory"))


def quota_resource_name(path: str, name: str) -> Iterator[FieldError]:
    yield from resource_name(path, name)
    if "/" not in name and not is_standard_quota(name):
        yield FieldError.invalid(path, name, "must be a standard resource for quota")


def amount(value: Any) -> quantity.Amount:
    """Return a parsed quantity, 0 if it is invalid, which decoding reports."""
    try:
        return quantity.parse(value)
    except InputError:
        return quantity.parse(0)


def shown_amount(value: Any) -> str:
    return quantity.canonical(amount(value))


def non_negative_quantity(path: str, value: Any) -> Iterator[FieldError]:
    if quantity.sign(amount(value)) < 0:
        yield FieldError.invalid(path, shown_amount(value), NEGATIVE)


def positive_quantity(path: str, value: Any) -> Iterator[FieldError]:
    if quantity.sign(amount(value)) <= 0:
        yield FieldError.invalid(path, shown_amount(value), NOT_POSITIVE)


def resource_quantity(name: str, path: str, value: Any) -> Iterator[FieldError]:
    """Yield the errors of a resource quantity (`ValidateResourceQuantityValue`)."""
    yield from non_negative_quantity(path, value)
    if is_integer(name) and quantity.milli_value(amount(value)) % 1000:
        yield FieldError.invalid(path, shown_amount(value), NOT_AN_INTEGER)


def huge_pages_multiple(name: str, path: str, value: Any) -> Iterator[FieldError]:
    size = amount(name.removeprefix(HUGE_PAGES))
    if (
        quantity.sign(size) <= 0
        or quantity.milli_value(size) % 1000
        or quantity.value(amount(value)) % quantity.value(size)
    ):
        text = shown_amount(value)
        yield FieldError.invalid(path, text, f"{text} is not positive integer multiple of {name}")


def resource_requirements(
    path: str, requirements: Mapping[str, Any], claims: Collection[str], name_check: Check = container_resource_name
) -> Iterator[FieldError]:
    """Yield the errors of requests, limits and claims of a container or (by `name_check`) a pod."""
    limits, requests = part(requirements, "limits"), part(requirements, "requests")
    for name, value in limits.items():
        yield from _resource(f"{path}.limits[{name}]", name, value, name_check)
        if is_huge_pages(name):
            yield from huge_pages_multiple(name, f"{path}.limits[{name}]", value)
    for name, value in requests.items():
        yield from _resource(f"{path}.requests[{name}]", name, value, name_check)
        yield from _request_within_limit(path, name, value, limits)
        if is_huge_pages(name):
            yield from huge_pages_multiple(name, f"{path}.requests[{name}]", value)
    names = {*limits, *requests}
    if any(map(is_huge_pages, names)) and not names & _POD_LEVEL:
        yield FieldError.forbidden(path, "HugePages require cpu or memory")
    yield from _claim_references(f"{path}.claims", elements(requirements, "claims"), claims)


def _resource(path: str, name: str, value: Any, name_check: Check) -> Iterator[FieldError]:
    yield from name_check(path, name)
    yield from resource_quantity(name, path, value)


def _request_within_limit(path: str, name: str, value: Any, limits: Mapping[str, Any]) -> Iterator[FieldError]:
    if name not in limits:
        if not can_overcommit(name):
            yield FieldError.required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        return
    order = quantity.compare(amount(value), amount(limits[name]))
    relation = "equal to" if order and not can_overcommit(name) else "less than or equal to" if order > 0 else ""
    if relation:
        detail = f"must be {relation} {name} limit of {shown_amount(limits[name])}"
        yield FieldError.invalid(f"{path}.requests", shown_amount(value), detail)


def _claim_references(path: str, references: list[Any], claims: Collection[str]) -> Iterator[FieldError]:
    seen: set[str] = set()
    requests: dict[str, int] = {}
    shown = ", ".join(sorted(claims)[:_MAX_SHOWN_CLAIMS])
    known = f": {shown}" if claims else " which is empty"
    for index, reference in enumerate(references):
        name, request = reference.get("name") or "", reference.get("request") or ""
        place = f"{path}[{index}]"
        if not name:
            yield FieldError.required(place)
            continue
        if name in seen:
            yield FieldError.duplicate(place, name)
        else:
            yield from _claim_request(place, name, request, seen, requests)
        if name not in claims:
            detail = f"must be one of the names in pod.spec.resourceClaims{known}"
            yield FieldError("FieldValueNotFound", place, f"{FieldError.not_found(place, name).body}: {detail}")


def _claim_request(
    place: str, name: str, request: str, seen: set[str], requests: dict[str, int]
) -> Iterator[FieldError]:
    """Yield the errors of a claim reference; `requests` counts earlier single requests by claim."""
    key = f"{name}/{request}" if request else name
    if request:
        yield from name_label(f"{place}.request", request)
    if key in seen:
        yield FieldError.duplicate(place, key)
        return
    if request:
        requests[name] = requests.get(name, 0) + 1
    else:
        yield from (FieldError.duplicate(place, name) for _ in range(requests.get(name, 0)))
    seen.add(key)
