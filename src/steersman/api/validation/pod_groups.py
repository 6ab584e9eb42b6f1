# SPDX-License-Identifier: Apache-2.0
"""Rules of PodGroup, CompositePodGroup and Workload (`scheduling/validation`, v1.37).

Fields of feature gates that are off are dropped before validation, so that the rules do not depend on gates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.api.json_values import Document, elements, part
from steersman.api.validation.checks import (
    Check,
    label_key,
    name_label,
    name_subdomain,
    one_of,
    path_segment_name,
    qualified_name,
    regex_error,
    with_format,
)
from steersman.api.validation.declared_fields import (
    Field,
    Structure,
    created,
    declared_errors,
    updated,
)
from steersman.api.validation.field_errors import FieldError
from steersman.api.validation.kind_rules import KindRules

HIGHEST_USER_PRIORITY: Final = 1_000_000_000
MAX_TEMPLATE_DEPTH: Final = 4
_MAX_TEMPLATES: Final = 8
_MAX_CLAIMS: Final = 4
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
_EMPTY: Final[Document] = {}
_TEMPLATES: Final = "podGroupTemplates"
_COMPOSITE_TEMPLATES: Final = "compositePodGroupTemplates"


def _at_most(most: int) -> Check:
    def check(path: str, value: Any) -> Iterator[FieldError]:
        if value > most:
            yield FieldError.invalid(path, value, f"must be less than or equal to {most}")

    return check


def _positive(path: str, value: Any) -> Iterator[FieldError]:
    if value < 1:
        yield FieldError.invalid(path, value, "must be greater than or equal to 1")


_segment: Final = with_format(path_segment_name)
_PRIORITY: Final = (
    Field("priorityClassName", name_subdomain, is_immutable=True),
    Field("priority", _at_most(HIGHEST_USER_PRIORITY), is_immutable=True),
    Field(
        "preemptionPolicy", one_of("Never", "PreemptLowerPriority"), is_immutable=True, default="PreemptLowerPriority"
    ),
)
_CLAIMS: Final = Field("resourceClaims", structure="claim", is_immutable=True, max_items=_MAX_CLAIMS, key="name")
_CONSTRAINTS: Final = Field("schedulingConstraints", structure="constraints", is_immutable=True)
_LISTS: Final = tuple(
    Field(name, structure=structure, max_items=_MAX_TEMPLATES, key="name", has_fixed_items=True)
    for name, structure in ((_TEMPLATES, "template"), (_COMPOSITE_TEMPLATES, "composite template"))
)
_POLICY: Final = Field("schedulingPolicy", structure="policy", default=_EMPTY)
_COMPOSITE_POLICY: Final = Field("schedulingPolicy", structure="composite policy", default=_EMPTY)
_PARENT: Final = Field("parentCompositePodGroupName", name_subdomain, is_immutable=True)
_NAME: Final = Field("name", name_label, is_required=True)
_MODE: Final = Field("disruptionMode", structure="disruption mode", is_immutable=True)
_REQUIRED_MODE: Final = Field("disruptionMode", structure="disruption mode", is_immutable=True, is_required=True)


def _policy(count: str) -> Structure:
    fields = (Field("basic", is_immutable=True), Field("gang", structure=f"gang {count}", is_fixed=True))
    return Structure(fields, ("basic", "gang"))


STRUCTURES: Final[Mapping[str, Structure]] = {
    "pod group": Structure(
        (
            _PARENT,
            Field("workloadRef", structure="workload reference", is_immutable=True),
            _POLICY,
            _CONSTRAINTS,
            _CLAIMS,
            _REQUIRED_MODE,
            *_PRIORITY,
        )
    ),
    "composite": Structure(
        (
            _PARENT,
            Field("workloadRef", structure="workload reference", is_immutable=True, is_required=True),
            Field("schedulingPolicy", structure="composite policy", is_immutable=True, default=_EMPTY),
            _CONSTRAINTS,
            _REQUIRED_MODE,
            *_PRIORITY,
        )
    ),
    "workload": Structure(
        (Field("controllerRef", structure="controller", is_immutable=True), *_LISTS),
        (_TEMPLATES, _COMPOSITE_TEMPLATES),
    ),
    "template": Structure((_NAME, _POLICY, _CONSTRAINTS, _CLAIMS, _MODE, *_PRIORITY)),
    "composite template": Structure((_NAME, _COMPOSITE_POLICY, _CONSTRAINTS, _MODE, *_PRIORITY, *_LISTS)),
    "policy": _policy("minCount"),
    "composite policy": _policy("minGroupCount"),
    "gang minCount": Structure((Field("minCount", _positive, is_required=True),)),
    "gang minGroupCount": Structure((Field("minGroupCount", _positive, is_required=True),)),
    "constraints": Structure((Field("topology", structure="topology", max_items=1),)),
    "topology": Structure((Field("key", label_key, is_required=True),)),
    "claim": Structure(
        (_NAME, Field("resourceClaimName", name_subdomain), Field("resourceClaimTemplateName", name_subdomain)),
        ("resourceClaimName", "resourceClaimTemplateName"),
    ),
    "disruption mode": Structure((Field("single"), Field("all")), ("single", "all")),
    "workload reference": Structure(
        (Field("workloadName", name_subdomain, is_required=True), Field("templateName", name_label, is_required=True))
    ),
    "controller": Structure(
        (
            Field("apiGroup", name_subdomain),
            Field("kind", _segment, is_required=True),
            Field("name", _segment, is_required=True),
        )
    ),
    "claim status": Structure((Field("resourceClaimName", name_subdomain),)),
    "group status": Structure(
        (Field("resourceClaimStatuses", structure="claim status", max_items=_MAX_CLAIMS, key="name"),)
    ),
}


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


def _pod_group_update(document: Document, old: Document) -> Iterator[FieldError]:
    yield from _changed_spec("pod group", document, old)


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


def _composite(document: Document) -> Iterator[FieldError]:
    yield from _spec("composite", document)


def _composite_update(document: Document, old: Document) -> Iterator[FieldError]:
    yield from _changed_spec("composite", document, old)


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
    """Yield the errors of names that are used in another list; repetitions in one list are declared."""
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
        _pod_group, _pod_group_update, has_own_update=True, subresources={"status": _pod_group_status}
    ),
    (_GROUP, "CompositePodGroup"): KindRules(
        _composite, _composite_update, has_own_update=True, subresources={"status": _composite_status}
    ),
    (_GROUP, "Workload"): KindRules(_workload, _workload_update, has_own_update=True),
}
