# SPDX-License-Identifier: Apache-2.0
"""Selection of objects for a list, watch or deletion: namespace, label selector, field selector.

A `Selection` matches documents in their stored version. Selectable fields are those of a
kube-apiserver; others are rejected, as upstream.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from steersman.api import Selector, SelectorSyntaxError, parse_label_selector
from steersman.base import InputError
from steersman.cluster.apiserver.resources import Resource
from steersman.cluster.apiserver.schema_validation import NOWHERE
from steersman.cluster.apiserver.statuses import bad_request
from steersman.cluster.store import Document

_EVENT_FIELDS: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_RENAMED: Final = {
    "spec.host": "spec.nodeName",
    "reportingController": "reportingComponent",
    **{f"regarding.{name}": f"involvedObject.{name}" for name in _EVENT_FIELDS},
}
"""Field names of old versions and of events.k8s.io → current names."""
_PATHS: Final = {"source": ("source", "component"), "status.successful": ("status", "succeeded")}
_DEFAULTS: Final = {
    "spec.unschedulable": "false",
    "spec.hostNetwork": "false",
    "status.replicas": "0",
    "status.successful": "0",
}
_FIELD_TERM: Final = re.compile(r"(?:\\.|[^,\\])+")
_OPERATORS: Final = ("!=", "==", "=")


class FieldTerm(msgspec.Struct, frozen=True):
    """Term of a field selector, such as `status.phase!=Running`."""

    field: str
    value: str
    is_equal: bool

    def matches(self, document: Document) -> bool:
        return (field_value(document, self.field) == self.value) is self.is_equal


class Selection(msgspec.Struct, frozen=True):
    """Namespace (None for all), label selector and field selector."""

    namespace: str | None = None
    labels: Selector | None = None
    fields: tuple[FieldTerm, ...] = ()

    @property
    def is_filtered(self) -> bool:
        return self.labels is not None or bool(self.fields)

    def matches(self, document: Document) -> bool:
        metadata = document.get("metadata") or {}
        if self.namespace is not None and metadata.get("namespace") != self.namespace:
            return False
        if self.labels is not None and not self.labels.matches(metadata.get("labels") or {}):
            return False
        return all(term.matches(document) for term in self.fields)


def selection(
    resource: Resource, namespace: str | None, query: Mapping[str, str], custom_fields: Iterable[str] = ()
) -> Selection:
    """Parse the selectors in a query. Raises 400."""
    labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
    selector = _label_selector(labels) if labels.strip() else None
    return Selection(namespace, selector, _field_terms(resource, fields, tuple(custom_fields)))


def _label_selector(text: str) -> Selector:
    """Parse a label selector. Raises 400 with upstream's message."""
    try:
        return parse_label_selector(text)
    except SelectorSyntaxError as error:
        raise bad_request(str(error)) from error
    except InputError as error:
        reason = str(error)
        reason = f"{NOWHERE}{reason.removeprefix('key')}" if reason.startswith("key") else reason
        raise bad_request(f"unable to parse requirement: {reason}") from error


def field_value(document: Document, field: str) -> str:
    """Return the value of a field as text, as selectors compare it; "" if missing."""
    value: Any = document
    for name in _PATHS.get(field) or field.lstrip(".").split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if field == "status.podIPs" and isinstance(value, list):
        return ",".join(entry.get("ip", "") for entry in value)
    if value is None:
        return _reporting(document, field) or _DEFAULTS.get(field, "")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _reporting(document: Document, field: str) -> str:
    """Return the alternative field for the reporter of an event."""
    if field == "source":
        return str(document.get("reportingComponent", ""))
    return ""


def _field_terms(resource: Resource, text: str, custom_fields: tuple[str, ...]) -> tuple[FieldTerm, ...]:
    if not text.strip():
        return ()
    return tuple(
        _field_term(resource, term.strip(), custom_fields) for term in _FIELD_TERM.findall(text) if term.strip()
    )


def _field_term(resource: Resource, term: str, custom_fields: tuple[str, ...]) -> FieldTerm:
    for operator in _OPERATORS:
        field, found, value = term.partition(operator)
        if found:
            return FieldTerm(_selectable(resource, field, custom_fields), _unescaped(value), operator != "!=")
    raise bad_request(f"invalid selector: '{term}'; can't understand '{term}'")


def _selectable(resource: Resource, field: str, custom_fields: tuple[str, ...]) -> str:
    if field in ("metadata.name", "metadata.namespace"):
        return field
    name = _RENAMED.get(field, field)
    if name in resource.selectable_fields or field in custom_fields:
        return name
    if not resource.selectable_fields and not custom_fields:
        raise bad_request(f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"')
    raise bad_request(f"field label not supported: {field}")


def _unescaped(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value)
