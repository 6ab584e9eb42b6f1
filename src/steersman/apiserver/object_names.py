# SPDX-License-Identifier: Apache-2.0
"""Metadata of objects by the rules of a kube-apiserver: names, labels, and what an update may not change."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from steersman.api import label_syntax
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


def metadata_errors(resource: Resource, document: Document, old: Document | None) -> Iterable[str]:
    """Each as `metadata.name: Invalid value: …`."""
    metadata = document["metadata"]
    if old is None:
        yield from _name_errors(resource, str(metadata.get("name") or ""))
    elif (uid := old["metadata"].get("uid")) != metadata.get("uid") and metadata.get("uid"):
        yield f'metadata.uid: Invalid value: "{metadata["uid"]}": field is immutable (is {uid})'
    yield from _label_errors(metadata.get("labels"))
    yield from _annotation_errors(metadata.get("annotations"))


def _name_errors(resource: Resource, name: str) -> Iterable[str]:
    identity = (resource.group, resource.plural)
    if identity in _PATH_NAMES:
        if name in (".", "..") or "/" in name or "%" in name:
            yield f"metadata.name: Invalid value: \"{name}\": may not be '.' or '..' and may not contain '/' or '%'"
        return
    pattern, longest, rule = _SUBDOMAIN, _LONGEST_SUBDOMAIN, SUBDOMAIN_RULE
    if identity in _LABEL_NAMES:
        pattern, longest, rule = _LABEL, _LONGEST_LABEL, LABEL_RULE
    if len(name) > longest:
        yield f'metadata.name: Invalid value: "{name}": must be no more than {longest} characters'
    if not pattern.fullmatch(name):
        yield f'metadata.name: Invalid value: "{name}": {rule}'


def _label_errors(labels: Any) -> Iterable[str]:
    if labels is None:
        return
    if not isinstance(labels, dict):
        yield f"metadata.labels: Invalid value: {labels!r}: must be a map of strings"
        return
    for key, value in labels.items():
        for wrong in label_syntax.key_errors(str(key)):
            yield f'metadata.labels: Invalid value: "{key}": {wrong}'
        for wrong in label_syntax.value_errors("" if value is None else str(value)):
            yield f'metadata.labels: Invalid value: "{value}": {wrong}'


def _annotation_errors(annotations: Any) -> Iterable[str]:
    if annotations is None:
        return
    if not isinstance(annotations, dict):
        yield f"metadata.annotations: Invalid value: {annotations!r}: must be a map of strings"
        return
    size = 0
    for key, value in annotations.items():
        size += len(str(key).encode()) + len(str(value or "").encode())
        for wrong in label_syntax.key_errors(str(key).lower()):
            yield f'metadata.annotations: Invalid value: "{key}": {wrong}'
    if size > _MOST_ANNOTATION_BYTES:
        yield f"metadata.annotations: Too long: may not be more than {_MOST_ANNOTATION_BYTES} bytes"
