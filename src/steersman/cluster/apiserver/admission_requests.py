# SPDX-License-Identifier: Apache-2.0
"""Requests as seen by admission policies and webhooks, and the rules that select them.

`admission_policies` and `admission_webhooks` share rules, selectors and match conditions.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

import msgspec

from steersman import api
from steersman.api import LabelSelector, codec, from_label_selector
from steersman.api.cel import evaluate_expression
from steersman.base import InputError
from steersman.cluster.apiserver.resources import Resource
from steersman.cluster.apiserver.reviews import TokenUser
from steersman.cluster.store import Document, Store

CREATE, UPDATE, DELETE = "CREATE", "UPDATE", "DELETE"
_SERVER: Final = TokenUser("system:apiserver", ("system:masters",))
_EXEMPT: Final = "admissionregistration.k8s.io"
"""API group exempt from policies and webhooks, so that a broken one can be removed."""


class AdmissionRequest(msgspec.Struct, frozen=True, dict=True):
    """A write. `document` is None for deletions, `old` for creations."""

    store: Store
    resource: Resource
    operation: str
    document: Document | None
    old: Document | None
    subresource: str = ""
    user: TokenUser | None = None
    is_dry_run: bool = False

    @property
    def metadata(self) -> Document:
        found: Document = (self.document or self.old or {}).get("metadata") or {}
        return found

    @cached_property
    def namespace(self) -> Document | None:
        """Namespace of the object; None for cluster-scoped objects."""
        name = self.metadata.get("namespace", "") if self.resource.namespaced else ""
        return self.store.documents(api.Namespace).get(name)

    @cached_property
    def review(self) -> Document:
        """The `request` of an AdmissionReview. The CEL variable `request` omits its objects."""
        resource, user = self.resource, self.user or _SERVER
        kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
        about = {"group": resource.group, "version": resource.version, "resource": resource.plural}
        place = {"namespace": self.metadata["namespace"]} if self.namespace is not None else {}
        return {
            "uid": str(uuid.uuid4()),
            "kind": kind,
            "resource": about,
            "subResource": self.subresource,
            "requestKind": kind,
            "requestResource": about,
            "requestSubResource": self.subresource,
            "name": self.metadata.get("name", ""),
            **place,
            "operation": self.operation,
            "userInfo": user.document(),
            "object": self.document,
            "oldObject": self.old,
            "dryRun": self.is_dry_run,
            "options": None,
        }

    def variables(self, params: Document | None = None) -> dict[str, Any]:
        """Return the variables of CEL expressions."""
        request = {name: value for name, value in self.review.items() if name not in ("object", "oldObject")}
        own = {"object": self.document, "oldObject": self.old, "request": request}
        return {**own, "namespaceObject": self.namespace, "params": params, "variables": {}}

    # -- selection ---------------------------------------------------------------------------------

    def is_selected(self, constraints: Mapping[str, Any], rules: str, *, is_optional: bool = False) -> bool:
        """Return whether rules (in field `rules`) and selectors match the request. Without rules,
        the result is `is_optional`."""
        if self.resource.group == _EXEMPT or any(
            self._obeys(rule) for rule in constraints.get("excludeResourceRules") or ()
        ):
            return False
        chosen = constraints.get(rules)
        if not (any(self._obeys(rule) for rule in chosen) if chosen else is_optional):
            return False
        return self._in_namespaces(constraints.get("namespaceSelector")) and self._labelled(
            constraints.get("objectSelector")
        )

    def _obeys(self, rule: Mapping[str, Any]) -> bool:
        scope = "Namespaced" if self.resource.namespaced else "Cluster"
        return (
            _contains(rule.get("operations"), self.operation)
            and _contains(rule.get("apiGroups"), self.resource.group)
            and rule.get("scope", "*") in ("*", scope)
            and any(self._is_named(name) for name in rule.get("resources") or ())
            and self.metadata.get("name") in (rule.get("resourceNames") or (self.metadata.get("name"),))
        )

    def _is_named(self, text: str) -> bool:
        plural, _, part = text.partition("/")
        return plural in ("*", self.resource.plural) and (part == "*" or part == self.subresource)

    def _in_namespaces(self, selector: Any) -> bool:
        if self.resource.plural == "namespaces":
            return _selects(selector, self.metadata)
        return self.namespace is None or _selects(selector, self.namespace["metadata"])

    def _labelled(self, selector: Any) -> bool:
        return any(
            _selects(selector, (found or {}).get("metadata") or {}) for found in (self.document, self.old) if found
        )


def unmet_conditions(conditions: Iterable[Mapping[str, Any]], variables: Mapping[str, Any]) -> Iterator[str]:
    """Return the names of match conditions that are not true. Raises `CelError`."""
    return (str(one.get("name")) for one in conditions if evaluate_expression(one["expression"], variables) is not True)


def _contains(values: Iterable[str] | None, wanted: str) -> bool:
    return any(value in ("*", wanted) for value in values or ())


def _selects(selector: Any, metadata: Mapping[str, Any]) -> bool:
    if not selector:
        return True
    try:
        return from_label_selector(codec.convert(selector, LabelSelector)).matches(metadata.get("labels") or {})
    except InputError:
        return False
