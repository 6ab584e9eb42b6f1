# SPDX-License-Identifier: Apache-2.0
"""Metadata of objects by the rules of a kube-apiserver: names, labels, and what an update may not change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from steersman.api import label_syntax
from steersman.apiserver.field_problems import FieldProblem
from steersman.apiserver.resources import Resource
from steersman.embedded import Document

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_NAMES: Final = frozenset({("", "namespaces"), ("", "services")})
"""Resources whose names are DNS labels; most are subdomains."""
_PATH_NAMES: Final = frozenset(
    {
        ("rbac.authorization.k8s.io", "roles"),
        ("rbac.authorization.k8s.io", "clusterroles"),
        ("rbac.authorization.k8s.io", "rolebindings"),
        ("rbac.authorization.k8s.io", "clusterrolebindings"),
        ("", "events"),
        ("events.k8s.io", "events"),
        ("apiregistration.k8s.io", "apiservices"),
        ("networking.k8s.io", "ipaddresses"),
    }
)
"""Resources whose names may be anything that can stand in a path."""
SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_LONGEST_SUBDOMAIN: Final = 253
_LONGEST_LABEL: Final = 63
_MOST_ANNOTATION_BYTES: Final = 256 * 1024


def metadata_problems(resource: Resource, document: Document, old: Document | None) -> Iterator[FieldProblem]:
    """The problems of the metadata of an object that is created, or that replaces `old`."""
    metadata = document["metadata"]
    if old is None:
        yield from _object_name_problems(resource, str(metadata.get("name") or ""))
    elif (uid := old["metadata"].get("uid")) != metadata.get("uid") and metadata.get("uid"):
        yield FieldProblem.invalid("metadata.uid", metadata["uid"], f"field is immutable (is {uid})")
    yield from label_problems(metadata.get("labels"), "metadata.labels")
    yield from _annotation_problems(metadata.get("annotations"))


def _object_name_problems(resource: Resource, name: str) -> Iterator[FieldProblem]:
    identity = (resource.group, resource.plural)
    if identity not in _PATH_NAMES:
        yield from name_problems(name, "metadata.name", is_label=identity in _LABEL_NAMES)
    elif name in (".", "..") or "/" in name or "%" in name:
        yield FieldProblem.invalid("metadata.name", name, "may not be '.' or '..' and may not contain '/' or '%'")


def name_problems(name: str, field: str, *, is_label: bool) -> Iterator[FieldProblem]:
    """The problems of a name that has to be a DNS label or subdomain."""
    pattern, longest, rule = _SUBDOMAIN, _LONGEST_SUBDOMAIN, SUBDOMAIN_RULE
    if is_label:
        pattern, longest, rule = _LABEL, _LONGEST_LABEL, LABEL_RULE
    if len(name) > longest:
        yield FieldProblem.invalid(field, name, f"must be no more than {longest} bytes")
    if not pattern.fullmatch(name):
        yield FieldProblem.invalid(field, name, rule)


def label_problems(labels: Any, field: str) -> Iterator[FieldProblem]:
    for key, value in labels.items() if isinstance(labels, dict) else ():
        for error in label_syntax.key_errors(key):
            yield FieldProblem.invalid(field, key, error)
        for error in label_syntax.value_errors(str(value)):
            yield FieldProblem.invalid(field, value, error)


def _annotation_problems(annotations: Any) -> Iterator[FieldProblem]:
    size = 0
    for key, value in annotations.items() if isinstance(annotations, dict) else ():
        size += len(str(key).encode()) + len(str(value or "").encode())
        for error in label_syntax.key_errors(str(key).lower()):
            yield FieldProblem.invalid("metadata.annotations", key, error)
    if size > _MOST_ANNOTATION_BYTES:
        yield FieldProblem.too_long("metadata.annotations", _MOST_ANNOTATION_BYTES)
