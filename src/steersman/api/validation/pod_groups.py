# SPDX-License-Identifier: Apache-2.0
"""Rules of PodGroup, CompositePodGroup and Workload (`scheduling/validation`, v1.37).

Fields of feature gates that are off are dropped before validation, so that the rules do not depend
on gates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from steersman.api.json_values import Document, elements, part
from steersman.api.validation.checks import one_of, qualified_name, regex_error, with_format
from steersman.api.validation.declared_fields import Structure, created, declared_errors, updated
from steersman.api.validation.field_errors import FieldError
from steersman.api.validation.kind_rules import KindRules

MAX_TEMPLATE_DEPTH: Final = 4
_MAX_REASON_BYTES: Final = 1024
_MAX_MESSAGE_BYTES: Final = 32 * 1024
_REASON: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_ERROR: Final = regex_error(
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters "
    "or '_,:', and must end with an alphanumeric character or '_'",
    _REASON,
    "my_name",
    "MY_NAME",
    "MyName",
    "ReasonA,ReasonB",
    "ReasonA:ReasonB",
)
_GROUP: Final = "scheduling.k8s.io"
_TEMPLATES: Final = "podGroupTemplates"
_COMPOSITE_TEMPLATES: Final = "compositePodGroupTemplates"


STRUCTURES: Final = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=dict[str, Structure])
"""Declared rules of the fields of each structure."""


def _spec(structure: str, document: Document) -> Iterator[FieldError]:
    yield from declared_errors(STRUCTURES, structure, created("spec", part(document, "spec")))


def _changed_spec(structure: str, document: Document, old: Document) -> Iterator[FieldError]:
    yield from declared_errors(STRUCTURES, structure, updated("spec", part(document, "spec"), part(old, "spec")))


# -- groups ----------------------------------------------------------------------------------------


def _pod_group(document: Document) -> Iterator[FieldError]:
    spec = part(document, "spec")
    if spec.get("parentCompositePodGroupName") is not None and spec.get("workloadRef") is None:
        yield FieldError.required("spec.workloadRef", "must be set when parentCompositePodGroupName is set")
    yield from _spec("pod group", document)


def _pod_group_status(document: Document, old: Document) -> Iterator[FieldError]:
    status = part(document, "status")
    yield from _conditions("status.conditions", status)
    claims = {claim.get("name") for claim in elements(document, "spec", "resourceClaims")}
    for index, claim in enumerate(elements(status, "resourceClaimStatuses")):
        if claim.get("name") not in claims:
            path = f"status.resourceClaimStatuses[{index}].name"
            detail = "must match the name of an entry in `spec.resourceClaims`"
            yield FieldError.invalid(path, claim.get("name") or "", detail)
    yield from declared_errors(STRUCTURES, "group status", updated("status", status, part(old, "status")))


def _composite_status(document: Document, old: Document) -> Iterator[FieldError]:
    yield from _conditions("status.conditions", part(document, "status"))


def _conditions(path: str, status: Document) -> Iterator[FieldError]:
    """Yield the errors of conditions (`metav1/validation.ValidateConditions`)."""
    seen: set[str] = set()
    for index, condition in enumerate(elements(status, "conditions")):
        kind = condition.get("type") or ""
        if kind in seen:
            yield FieldError.duplicate(f"{path}[{index}]", kind)
        seen.add(kind)
        yield from _condition(f"{path}[{index}]", condition)


def _condition(path: str, condition: Document) -> Iterator[FieldError]:
    kind, status, reason = (condition.get(name) or "" for name in ("type", "status", "reason"))
    if kind:
        yield from with_format(qualified_name)(f"{path}.type", kind)
    else:
        yield FieldError.required(f"{path}.type", "is required")
    if not status:
        yield FieldError.required(f"{path}.status")
    else:
        yield from one_of("False", "True", "Unknown")(f"{path}.status", status)
    generation = condition.get("observedGeneration") or 0
    if generation < 0:
        yield FieldError.invalid(f"{path}.observedGeneration", generation, "must be greater than or equal to zero")
    if not condition.get("lastTransitionTime"):
        yield FieldError.required(f"{path}.lastTransitionTime")
    if not reason:
        yield FieldError.required(f"{path}.reason")
    elif not re.fullmatch(_REASON, reason):
        yield FieldError.invalid(f"{path}.reason", reason, _REASON_ERROR)
    if len(reason.encode()) > _MAX_REASON_BYTES:
        yield FieldError.too_long(f"{path}.reason", _MAX_REASON_BYTES)
    if len((condition.get("message") or "").encode()) > _MAX_MESSAGE_BYTES:
        yield FieldError.too_long(f"{path}.message", _MAX_MESSAGE_BYTES)


# -- workloads -------------------------------------------------------------------------------------


def _workload(document: Document) -> Iterator[FieldError]:
    yield from _templates(part(document, "spec"))
    yield from declared_errors(STRUCTURES, "workload", created("spec", part(document, "spec")))


def _workload_update(document: Document, old: Document) -> Iterator[FieldError]:
    spec = part(document, "spec")
    yield from _templates(spec)
    yield from declared_errors(STRUCTURES, "workload", updated("spec", spec, part(old, "spec")))


def _templates(spec: Document) -> Iterator[FieldError]:
    """Yield the errors of a tree of templates: names, depth, priorities and childless templates."""
    names = {template.get("name") for template in elements(spec, _TEMPLATES)}
    yield from _repeated_names("spec", elements(spec, _COMPOSITE_TEMPLATES), names)
    for index, template in enumerate(elements(spec, _COMPOSITE_TEMPLATES)):
        if _depth(template) > MAX_TEMPLATE_DEPTH - 1:
            path, detail = (
                f"spec.{_COMPOSITE_TEMPLATES}[{index}]",
                f"maximum template hierarchy depth is {MAX_TEMPLATE_DEPTH}",
            )
            yield FieldError.invalid(path, elements(template, _COMPOSITE_TEMPLATES), detail)
    yield from _priorities(spec)
    yield from _childless("spec", spec)


def _repeated_names(path: str, templates: list[Any], names: set[Any]) -> Iterator[FieldError]:
    """Yield the errors of names that are used in another list; repetitions in one list are
    declared."""
    paths = [f"{path}.{_COMPOSITE_TEMPLATES}[{index}]" for index in range(len(templates))]
    for where, template in zip(paths, templates, strict=True):
        if template.get("name") in names:
            yield FieldError.duplicate(f"{where}.name", template.get("name"))
    names.update(template.get("name") for template in templates)
    for where, template in zip(paths, templates, strict=True):
        children = elements(template, _TEMPLATES)
        for index, child in enumerate(children):
            if child.get("name") in names:
                yield FieldError.duplicate(f"{where}.{_TEMPLATES}[{index}].name", child.get("name"))
        names.update(child.get("name") for child in children)
        yield from _repeated_names(where, elements(template, _COMPOSITE_TEMPLATES), names)


def _depth(template: Document) -> int:
    """Return the number of levels of composite templates, at most `MAX_TEMPLATE_DEPTH`."""
    level, depth = [template], 0
    while level and depth < MAX_TEMPLATE_DEPTH:
        depth += 1
        level = [child for parent in level for child in elements(parent, _COMPOSITE_TEMPLATES)]
    return depth


def _priorities(spec: Document) -> Iterator[FieldError]:
    direct = {_priority_of(template) for template in elements(spec, _TEMPLATES)}
    if len(direct) > 1:
        yield FieldError.invalid("spec", None, "detected multiple priority configurations")
        return
    if len(direct | set(_priorities_below(spec))) > 1:
        detail = "all priority and priorityClassName values must be identical, detected multiple values"
        yield FieldError.invalid("spec", None, detail)


def _priorities_below(template: Document) -> Iterator[tuple[str, int | None]]:
    for child in elements(template, _COMPOSITE_TEMPLATES):
        yield _priority_of(child)
        yield from map(_priority_of, elements(child, _TEMPLATES))
        yield from _priorities_below(child)


def _priority_of(template: Document) -> tuple[str, int | None]:
    return template.get("priorityClassName") or "", template.get("priority")


def _childless(path: str, template: Document) -> Iterator[FieldError]:
    for index, child in enumerate(elements(template, _COMPOSITE_TEMPLATES)):
        where = f"{path}.{_COMPOSITE_TEMPLATES}[{index}]"
        if not elements(child, _TEMPLATES) and not elements(child, _COMPOSITE_TEMPLATES):
            detail = "must have at least one child PodGroupTemplate or CompositePodGroupTemplate"
            yield FieldError.invalid(where, child.get("name") or "", detail)
        yield from _childless(where, child)


RULES: Final[Mapping[tuple[str, str], KindRules]] = {
    (_GROUP, "PodGroup"): KindRules(
        _pod_group, partial(_changed_spec, "pod group"), has_own_update=True, subresources={"status": _pod_group_status}
    ),
    (_GROUP, "CompositePodGroup"): KindRules(
        partial(_spec, "composite"),
        partial(_changed_spec, "composite"),
        has_own_update=True,
        subresources={"status": _composite_status},
    ),
    (_GROUP, "Workload"): KindRules(_workload, _workload_update, has_own_update=True),
}
