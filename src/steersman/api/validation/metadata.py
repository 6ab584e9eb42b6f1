# SPDX-License-Identifier: Apache-2.0
"""Metadata of objects by the rules of a kube-apiserver: names, labels, and what an update may not change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from steersman.api import label_syntax
from steersman.api.json_values import Document, group_kind
from steersman.api.validation.field_errors import FieldError

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_NAMES: Final = frozenset({("", "Namespace"), ("", "Service")})
"""Kinds whose names are DNS labels; most are subdomains."""
_PATH_NAMES: Final = frozenset(
    {
        ("rbac.authorization.k8s.io", "Role"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("rbac.authorization.k8s.io", "RoleBinding"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        ("", "Event"),
        ("events.k8s.io", "Event"),
        ("apiregistration.k8s.io", "APIService"),
        ("networking.k8s.io", "IPAddress"),
    }
)
"""Kinds whose names only have to be valid path segments."""
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


def validate_metadata(document: Document, old: Document | None) -> Iterator[FieldError]:
    """Yield the errors in the metadata of an object that is created, or that replaces `old`."""
    metadata = document["metadata"]
    if old is None:
        yield from _validate_name(document, str(metadata.get("name") or ""))
    elif (uid := old["metadata"].get("uid")) != metadata.get("uid") and metadata.get("uid"):
        yield FieldError.invalid("metadata.uid", metadata["uid"], f"field is immutable (is {uid})")
    yield from label_problems(metadata.get("labels"), "metadata.labels")
    yield from _annotation_problems(metadata.get("annotations"))


def _validate_name(document: Document, name: str) -> Iterator[FieldError]:
    identity = group_kind(document)
    if identity not in _PATH_NAMES:
        yield from name_problems(name, "metadata.name", is_label=identity in _LABEL_NAMES)
    elif name in (".", "..") or "/" in name or "%" in name:
        yield FieldError.invalid("metadata.name", name, "may not be '.' or '..' and may not contain '/' or '%'")


def name_problems(name: str, field: str, *, is_label: bool) -> Iterator[FieldError]:
    """The problems of a name that has to be a DNS label or subdomain."""
    pattern, longest, rule = _SUBDOMAIN, _LONGEST_SUBDOMAIN, SUBDOMAIN_RULE
    if is_label:
        pattern, longest, rule = _LABEL, _LONGEST_LABEL, LABEL_RULE
    if len(name) > longest:
        yield FieldError.invalid(field, name, f"must be no more than {longest} bytes")
    if not pattern.fullmatch(name):
        yield FieldError.invalid(field, name, rule)


def label_problems(labels: Any, field: str) -> Iterator[FieldError]:
    for key, value in labels.items() if isinstance(labels, dict) else ():
        for error in label_syntax.key_errors(key):
            yield FieldError.invalid(field, key, error)
        for error in label_syntax.value_errors(str(value)):
            yield FieldError.invalid(field, value, error)


def _annotation_problems(annotations: Any) -> Iterator[FieldError]:
    size = 0
    for key, value in annotations.items() if isinstance(annotations, dict) else ():
        size += len(str(key).encode()) + len(str(value or "").encode())
        for error in label_syntax.key_errors(str(key).lower()):
            yield FieldError.invalid("metadata.annotations", key, error)
    if size > _MOST_ANNOTATION_BYTES:
        yield FieldError.too_long("metadata.annotations", _MOST_ANNOTATION_BYTES)
