# SPDX-License-Identifier: Apache-2.0
"""Rules of the kinds in rbac.authorization.k8s.io (`rbac/validation`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.api.json_values import Document, elements, part
from steersman.api.validation.checks import label_selector, required, segment
from steersman.api.validation.field_errors import FieldError, go_struct
from steersman.api.validation.kind_rules import KindRules, Validate
from steersman.api.validation.rule_table import Rules

_GROUP: Final = "rbac.authorization.k8s.io"


def _policy_rules(document: Document, *, is_namespaced: bool) -> Iterator[FieldError]:
    for index, rule in enumerate(elements(document, "rules")):
        path, urls = f"rules[{index}]", elements(rule, "nonResourceURLs")
        if not rule.get("verbs"):
            yield FieldError.required(f"{path}.verbs", "verbs must contain at least one value")
        if urls:
            if is_namespaced:
                detail = "namespaced rules cannot apply to non-resource URLs"
                yield FieldError.invalid(f"{path}.nonResourceURLs", urls, detail)
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                detail = "rules cannot apply to both regular resources and non-resource URLs"
                yield FieldError.invalid(f"{path}.nonResourceURLs", urls, detail)
            continue
        yield from _rules("resource_rule", path, rule)


def _role(document: Document) -> Iterator[FieldError]:
    yield from _policy_rules(document, is_namespaced=True)


def _cluster_role(document: Document) -> Iterator[FieldError]:
    yield from _policy_rules(document, is_namespaced=False)
    if document.get("aggregationRule") is None:
        return
    yield from _rules("aggregation_rule", "aggregationRule", document["aggregationRule"])


def _aggregated_selector(path: str, selector: Any) -> Iterator[FieldError]:
    errors = list(label_selector(path, selector))
    yield from errors
    if errors:
        yield FieldError.invalid(path, None, "invalid label selector.")


def _binding(*kinds: str) -> Validate:
    """Return the rules of a binding whose `roleRef` may have these kinds."""

    def check(document: Document) -> Iterator[FieldError]:
        role = part(document, "roleRef")
        yield from _rules("role_group", "roleRef", role)
        if role.get("kind") not in kinds:
            yield FieldError.not_supported("roleRef.kind", role.get("kind") or "", kinds)
        yield from required(segment)("roleRef.name", role.get("name"))
        for index, subject in enumerate(elements(document, "subjects")):
            yield from _subject(f"subjects[{index}]", subject, is_namespaced="Role" in kinds)

    return check


def _subject(path: str, subject: Mapping[str, Any], *, is_namespaced: bool) -> Iterator[FieldError]:
    kind = subject.get("kind")
    yield from required()(f"{path}.name", subject.get("name"))
    section = {"ServiceAccount": "service_account_subject", "User": "rbac_subject", "Group": "rbac_subject"}.get(
        kind or ""
    )
    if section is None:
        yield FieldError.not_supported(f"{path}.kind", kind or "", ("ServiceAccount", "User", "Group"))
        return
    yield from _rules(section, path, subject)
    if kind == "ServiceAccount" and not is_namespaced and not subject.get("namespace"):
        yield FieldError.required(f"{path}.namespace")


def _binding_update(document: Document, old: Document) -> Iterator[FieldError]:
    if part(document, "roleRef") != part(old, "roleRef"):
        shown = go_struct(part(document, "roleRef"), APIGroup="", Kind="", Name="")
        yield FieldError.invalid("roleRef", shown, "cannot change roleRef")


_rules: Final = Rules(globals())
RULES: Final = {
    (_GROUP, "ClusterRole"): KindRules(_cluster_role),
    (_GROUP, "ClusterRoleBinding"): KindRules(_binding("ClusterRole"), _binding_update),
    (_GROUP, "Role"): KindRules(_role),
    (_GROUP, "RoleBinding"): KindRules(_binding("Role", "ClusterRole"), _binding_update),
}
