# SPDX-License-Identifier: Apache-2.0
"""Rules of node selectors, affinity, tolerations and spread constraints (`core/validation`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.api.json_values import Document, elements, part
from steersman.api.validation.checks import (
    NOT_AN_OPERATOR,
    Check,
    dns1123_subdomain,
    each,
    label_key,
    label_selector,
    label_value,
    name_label,
    one_of,
    optional,
    positive,
    required,
    selector_requirement,
    with_format,
)
from steersman.api.validation.field_errors import FieldError

_NODE_NAME_FIELD: Final = "metadata.name"
TAINT_EFFECT: Final = one_of("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_NODE_POLICY: Final = optional(one_of("Honor", "Ignore"))


# -- nodes -----------------------------------------------------------------------------------------


def node_selector(path: str, selector: Any) -> Iterator[FieldError]:
    """Yield the errors of a NodeSelector of a pod, a volume or a ResourceSlice."""
    terms = elements(selector, "nodeSelectorTerms")
    if not terms:
        yield FieldError.required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms):
        yield from _node_selector_term(f"{path}.nodeSelectorTerms[{index}]", term)


def _node_selector_term(path: str, term: Document, *, checks_values: bool = True) -> Iterator[FieldError]:
    for index, requirement in enumerate(elements(term, "matchExpressions")):
        place = f"{path}.matchExpressions[{index}]"
        yield from selector_requirement(place, requirement, compares_numbers=True, checks_values=checks_values)
    for index, requirement in enumerate(elements(term, "matchFields")):
        yield from _node_field_requirement(f"{path}.matchFields[{index}]", requirement)


def _node_field_requirement(path: str, requirement: Document) -> Iterator[FieldError]:
    operator, values = requirement.get("operator") or "", requirement.get("values") or []
    if operator not in ("In", "NotIn"):
        yield FieldError.invalid(f"{path}.operator", operator, NOT_AN_OPERATOR)
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield FieldError.required(f"{path}.values", detail)
    if requirement.get("key") != _NODE_NAME_FIELD:
        yield FieldError.invalid(f"{path}.key", requirement.get("key") or "", "not a valid field selector key")
    else:
        yield from each(with_format(dns1123_subdomain))(f"{path}.values", values)


# -- affinity --------------------------------------------------------------------------------------


def affinity(path: str, value: Document) -> Iterator[FieldError]:
    nodes = part(value, "nodeAffinity")
    if nodes.get(_REQUIRED) is not None:
        yield from node_selector(f"{path}.nodeAffinity.{_REQUIRED}", nodes[_REQUIRED])
    for index, term in enumerate(elements(nodes, _PREFERRED)):
        place = f"{path}.nodeAffinity.{_PREFERRED}[{index}]"
        yield from _weight(f"{place}.weight", term.get("weight") or 0)
        yield from _node_selector_term(f"{place}.preference", part(term, "preference"), checks_values=False)
    for name in ("podAffinity", "podAntiAffinity"):
        for index, term in enumerate(elements(value, name, _REQUIRED)):
            yield from _pod_affinity_term(f"{path}.{name}.{_REQUIRED}[{index}]", term)
        for index, term in enumerate(elements(value, name, _PREFERRED)):
            place = f"{path}.{name}.{_PREFERRED}[{index}]"
            yield from _weight(f"{place}.weight", term.get("weight") or 0)
            yield from _pod_affinity_term(f"{place}.podAffinityTerm", part(term, "podAffinityTerm"))


def _weight(path: str, weight: int) -> Iterator[FieldError]:
    if not 1 <= weight <= 100:
        yield FieldError.invalid(path, weight, "must be in the range 1-100")


def _pod_affinity_term(path: str, term: Document) -> Iterator[FieldError]:
    yield from label_selector(f"{path}.labelSelector", term.get("labelSelector"))
    yield from label_selector(f"{path}.namespaceSelector", term.get("namespaceSelector"))
    for name in elements(term, "namespaces"):
        yield from name_label(f"{path}.namespace", name)
    yield from _match_label_keys(path, term)
    if not term.get("topologyKey"):
        yield FieldError.required(f"{path}.topologyKey", "can not be empty")
    yield from label_key(f"{path}.topologyKey", term.get("topologyKey") or "")


def _match_label_keys(path: str, value: Document) -> Iterator[FieldError]:
    """Yield the errors of `matchLabelKeys` and `mismatchLabelKeys` (merged into the selector)."""
    matched, mismatched = elements(value, "matchLabelKeys"), elements(value, "mismatchLabelKeys")
    selector = value.get("labelSelector")
    for name, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        if keys and selector is None:
            yield FieldError.forbidden(f"{path}.{name}", "must not be specified when labelSelector is not set")
        elif keys:
            yield from each(label_key)(f"{path}.{name}", keys)
    if selector is not None:
        yield from _keys_in_selector(path, matched, selector)
    unwanted = set(mismatched)
    for index, key in enumerate(matched):
        if key in unwanted:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield FieldError.invalid(f"{path}.matchLabelKeys[{index}]", key, detail)


def _keys_in_selector(path: str, matched: list[str], selector: Document) -> Iterator[FieldError]:
    """Yield an error for keys that the selector repeats; the API server's merge adds each once."""
    positions = {key: index for index, key in enumerate(matched)}
    seen = set(part(selector, "matchLabels"))
    for requirement in elements(selector, "matchExpressions"):
        key = requirement.get("key") or ""
        if key in positions and key in seen:
            detail = "exists in both matchLabelKeys and labelSelector"
            yield FieldError.invalid(f"{path}[{positions[key]}]", key, detail)
        seen.add(key)


# -- tolerations and spread constraints ------------------------------------------------------------


def tolerations(path: str, values: list[Any]) -> Iterator[FieldError]:
    for index, toleration in enumerate(values):
        yield from _toleration(f"{path}[{index}]", toleration)


def _toleration(path: str, toleration: Document) -> Iterator[FieldError]:
    key, operator = toleration.get("key") or "", toleration.get("operator") or ""
    effect = toleration.get("effect") or ""
    yield from optional(label_key)(f"{path}.key", key)
    if not key and operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield FieldError.invalid(f"{path}.operator", operator, detail)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield FieldError.invalid(f"{path}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    yield from _toleration_value(f"{path}.operator", operator, toleration.get("value") or "")
    yield from optional(TAINT_EFFECT)(f"{path}.effect", effect)


def _toleration_value(path: str, operator: str, value: str) -> Iterator[FieldError]:
    if operator in ("Equal", ""):
        if complaints := label_value(value):
            yield FieldError.invalid(path, value, ";".join(complaints))
    elif operator == "Exists":
        if value:
            yield FieldError.invalid(path, value, "value must be empty when `operator` is 'Exists'")
    else:
        known = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
        yield FieldError.not_supported(path, operator, known)


def spread_constraints(path: str, constraints: list[Any]) -> Iterator[FieldError]:
    last = {
        (constraint.get("topologyKey") or "", constraint.get("whenUnsatisfiable") or ""): index
        for index, constraint in enumerate(constraints)
    }
    for index, constraint in enumerate(constraints):
        place = f"{path}[{index}]"
        key, action = constraint.get("topologyKey") or "", constraint.get("whenUnsatisfiable") or ""
        yield from positive(f"{place}.maxSkew", constraint.get("maxSkew") or 0)
        yield from required(detail="can not be empty")(f"{place}.topologyKey", key)
        yield from _ACTION(f"{place}.whenUnsatisfiable", action)
        if last[key, action] != index:
            yield FieldError.duplicate(f"{place}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
        yield from _min_domains(f"{place}.minDomains", constraint.get("minDomains"), action)
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            yield from _NODE_POLICY(f"{place}.{name}", constraint.get(name))
        yield from _match_label_keys(place, constraint)
        yield from label_selector(f"{place}.labelSelector", constraint.get("labelSelector"))


_ACTION: Final[Check] = one_of("DoNotSchedule", "ScheduleAnyway")


def _min_domains(path: str, count: int | None, action: str) -> Iterator[FieldError]:
    if count is None:
        return
    yield from positive(path, count)
    if action != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        yield FieldError.invalid(path, count, detail)


# -- changes of a pod with scheduling gates --------------------------------------------------------


def narrowed_node_selector(path: str, new: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[FieldError]:
    """Yield an error if the new node selector changes or removes labels."""
    if any(new.get(key) != value for key, value in old.items()):
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield FieldError.invalid(path, new or None, detail)


def narrowed_node_affinity(path: str, new: Document, old: Document) -> Iterator[FieldError]:
    """Yield an error if the required node affinity changes except by additional requirements."""
    place = f"{path}.{_REQUIRED}.nodeSelectorTerms"
    old_terms, new_terms = elements(old, _REQUIRED, "nodeSelectorTerms"), elements(new, _REQUIRED, "nodeSelectorTerms")
    if old_terms and len(old_terms) != len(new_terms):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield FieldError.invalid(place, [_go_term(term) for term in new_terms] or None, detail)
        return
    for index, (new_term, old_term) in enumerate(zip(new_terms, old_terms, strict=False)):
        if not _is_narrowed(new_term, old_term):
            detail = "only additions are allowed (no mutations or deletions)"
            yield FieldError.invalid(f"{place}[{index}]", _go_term(new_term), detail)


def _is_narrowed(new: Document, old: Document) -> bool:
    names = ("matchExpressions", "matchFields")
    if not any(elements(old, name) for name in names):
        return not any(elements(new, name) for name in names)
    return all(elements(new, name)[: len(elements(old, name))] == elements(old, name) for name in names)


def _go_term(term: Document) -> Document:
    def requirements(name: str) -> list[Document] | None:
        found = [
            {"Key": value.get("key"), "Operator": value.get("operator"), "Values": value.get("values")}
            for value in elements(term, name)
        ]
        return found or None

    return {"MatchExpressions": requirements("matchExpressions"), "MatchFields": requirements("matchFields")}
