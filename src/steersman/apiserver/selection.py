# SPDX-License-Identifier: Apache-2.0
"""Which objects a list, a watch or a deletion is about: namespace, label selector, field selector.

A `Selection` is asked about documents in the version in which they are stored. Fields that can be selected are those of a
kube-apiserver; any other one is refused, as there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

import msgspec

from steersman.api.selectors import Operator, Requirement, Selector, requirement
from steersman.apiserver.resources import Resource
from steersman.apiserver.statuses import bad_request
from steersman.embedded import Document
from steersman.errors import InputError

_EVENT_FIELDS: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_SELECTABLE: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("", "pods"): (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    ("", "nodes"): ("spec.unschedulable",),
    ("", "namespaces"): ("status.phase",),
    ("", "secrets"): ("type",),
    ("", "services"): ("spec.clusterIP", "spec.type"),
    ("", "replicationcontrollers"): ("status.replicas",),
    ("apps", "replicasets"): ("status.replicas",),
    ("batch", "jobs"): ("status.successful",),
    ("certificates.k8s.io", "certificatesigningrequests"): ("spec.signerName",),
    ("resource.k8s.io", "resourceslices"): ("spec.nodeName", "spec.driver"),
    ("", "events"): (
        *(f"involvedObject.{name}" for name in _EVENT_FIELDS),
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
}
_RENAMED: Final = {
    "spec.host": "spec.nodeName",
    "reportingController": "reportingComponent",
    **{f"regarding.{name}": f"involvedObject.{name}" for name in _EVENT_FIELDS},
}
"""Other names of fields, as old versions and events.k8s.io have them."""
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
    """`status.phase!=Running`."""

    field: str
    value: str
    is_equal: bool

    def matches(self, document: Document) -> bool:
        return (field_value(document, self.field) == self.value) is self.is_equal


class Selection(msgspec.Struct, frozen=True):
    """A namespace (None: all of them), labels and fields."""

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
    """Made of the query of a request; raises 400."""
    labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
    selector = label_selector(labels) if labels.strip() else None
    return Selection(namespace, selector, _field_terms(resource, fields, tuple(custom_fields)))


def field_value(document: Document, field: str) -> str:
    """The value of a field as text, as selectors compare it; "" where it is missing."""
    value: Any = document
    for name in _PATHS.get(field) or field.lstrip(".").split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if field == "status.podIPs" and isinstance(value, list):
        return ",".join(entry.get("ip", "") for entry in value)
    if value is None:
        return _reporting(document, field) or _DEFAULTS.get(field, "")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _reporting(document: Document, field: str) -> str:
    """Events say who reports them in two places."""
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
    group = "" if resource.plural == "events" else resource.group
    name = _RENAMED.get(field, field)
    if name in _SELECTABLE.get((group, resource.plural), ()) or field in custom_fields:
        return name
    raise bad_request(f"field label not supported: {field}")


def _unescaped(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value)


# -- label selectors as text -------------------------------------------------------------------------------------------

_LABEL_TERM: Final = re.compile(r"(?:[^,()]|\([^()]*\))+")
_SET_TERM: Final = re.compile(r"^(?P<key>\S+)\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)$")
_COMPARED: Final = re.compile(r"^(?P<key>[^=!<>\s]+)\s*(?P<operator>!=|==|=|>|<)\s*(?P<value>[^=!<>]*)$")
_COMPARISONS: Final = {
    "=": Operator.IN,
    "==": Operator.IN,
    "!=": Operator.NOT_IN,
    ">": Operator.GT,
    "<": Operator.LT,
}


@cache
def _operator(name: str) -> Operator:
    return Operator.IN if name == "in" else Operator.NOT_IN


def label_selector(text: str) -> Selector:
    """`app=web,tier in (a,b),!legacy`; raises 400."""
    try:
        return Selector(tuple(sorted(_label_requirement(term.strip()) for term in _LABEL_TERM.findall(text))))
    except InputError as error:
        raise bad_request(f"unable to parse requirement: {error}") from error


def _label_requirement(term: str) -> Requirement:
    if found := _SET_TERM.match(term):
        values = tuple(sorted({value.strip() for value in found["values"].split(",")}))
        return requirement(found["key"], _operator(found["operator"]), values)
    if found := _COMPARED.match(term):
        return requirement(found["key"], _COMPARISONS[found["operator"]], (found["value"].strip(),))
    if term.startswith("!"):
        return requirement(term[1:].strip(), Operator.DOES_NOT_EXIST, ())
    if " " in term or "(" in term:
        raise bad_request(f"unable to parse requirement: found '{term}', expected: in, notin, =, ==, !=, >, <")
    return requirement(term, Operator.EXISTS, ())
