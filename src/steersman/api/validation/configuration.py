# SPDX-License-Identifier: Apache-2.0
"""Rules of ConfigMap, Secret, Lease and Event."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.api.json_values import Document, part
from steersman.api.validation.checks import (
    at_least,
    byte_length,
    config_map_key,
    immutable,
    label_key,
    required,
)
from steersman.api.validation.field_errors import FieldError
from steersman.api.validation.kind_rules import KindRules

_MAX_BYTES: Final = 1024 * 1024
_FIXED: Final = "field is immutable when `immutable` is set"
_SERVICE_ACCOUNT: Final = "kubernetes.io/service-account.name"
_REQUIRED_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
"""Required data keys by Secret type."""


def _decoded(value: Any) -> bytes:
    try:
        return base64.b64decode(str(value or ""))
    except (binascii.Error, ValueError):
        return b""


def _config_map(document: Document) -> Iterator[FieldError]:
    data, binary = part(document, "data"), part(document, "binaryData")
    for field, keys in (("data", data), ("binaryData", binary)):
        for key in keys:
            yield from (FieldError.invalid(f"{field}[{key}]", key, complaint) for complaint in config_map_key(key))
            if field == "data" and key in binary:
                yield FieldError.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    size = sum(byte_length(str(text or "")) for text in data.values()) + sum(
        len(_decoded(one)) for one in binary.values()
    )
    if size > _MAX_BYTES:
        yield FieldError.too_long("[]", _MAX_BYTES)


def _fixed_data(document: Document, old: Document, *fields: str) -> Iterator[FieldError]:
    if not old.get("immutable"):
        return
    if not document.get("immutable"):
        yield FieldError.forbidden("immutable", _FIXED)
    for field in fields:
        if (document.get(field) or {}) != (old.get(field) or {}):
            yield FieldError.forbidden(field, _FIXED)


def _config_map_update(document: Document, old: Document) -> Iterator[FieldError]:
    yield from _fixed_data(document, old, "data", "binaryData")
    yield from _config_map(document)


def _secret(document: Document) -> Iterator[FieldError]:
    data, kind = part(document, "data"), document.get("type")
    for key in data:
        yield from (FieldError.invalid(f"data[{key}]", key, complaint) for complaint in config_map_key(key))
    if sum(len(_decoded(value)) for value in data.values()) > _MAX_BYTES:
        yield FieldError.too_long("data", _MAX_BYTES)
    if kind == "kubernetes.io/service-account-token":
        if not part(document, "metadata", "annotations").get(_SERVICE_ACCOUNT):
            yield FieldError.required(f"metadata.annotations[{_SERVICE_ACCOUNT}]")
    elif kind == "kubernetes.io/basic-auth" and not data.keys() & {"username", "password"}:
        yield from (FieldError.required(f"data[{key}]") for key in ("username", "password"))
    for key in _REQUIRED_KEYS.get(str(kind), ()):
        if key not in data or (key == "ssh-privatekey" and not data[key]):
            yield FieldError.required(f"data[{key}]")
        elif key.startswith(".docker"):
            yield from _docker_config(f"data[{key}]", _decoded(data[key]))


def _docker_config(path: str, text: bytes) -> Iterator[FieldError]:
    try:
        if isinstance(json.loads(text), dict | None):
            return
        detail = "json: cannot unmarshal value into Go value of type map[string]interface {}"
    except ValueError:
        first = text[:1].decode(errors="replace")
        detail = (
            f"invalid character '{first}' looking for beginning of value" if first else "unexpected end of JSON input"
        )
    yield FieldError.invalid(path, "<secret contents redacted>", detail)


def _secret_update(document: Document, old: Document) -> Iterator[FieldError]:
    yield from immutable("type", document.get("type"), old.get("type"))
    yield from _fixed_data(document, old, "data")
    yield from _secret(document)


def _lease(document: Document) -> Iterator[FieldError]:
    spec = part(document, "spec")
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        yield FieldError.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    yield from at_least(0)("spec.leaseTransitions", spec.get("leaseTransitions") or 0)


_EVENT_TEXTS: Final = (
    ("reportingInstance", True, 128),
    ("action", True, 128),
    ("reason", True, 128),
    ("message", False, 1024),
)
"""String fields of an Event with `eventTime`: name, whether required, maximum number of bytes."""


def _event(document: Document) -> Iterator[FieldError]:
    """Yield the errors of an Event, whose namespace must match that of its object."""
    is_core = document["apiVersion"] == "v1"
    namespace = document["metadata"].get("namespace") or ""
    other = part(document, "involvedObject" if is_core else "regarding").get("namespace") or ""
    timed = bool(document.get("eventTime"))
    allowed = {namespace if timed else other} if other else {"default", "kube-system" if timed else ""}
    if namespace not in allowed:
        yield FieldError.invalid("involvedObject.namespace", other, "does not match event.namespace")
    if not timed:
        return
    controller = "reportingComponent" if is_core else "reportingController"
    yield from required()(controller, document.get(controller))
    yield from label_key(controller, document.get(controller) or "")
    for field, is_required, limit in _EVENT_TEXTS:
        text = document.get("note" if field == "message" and not is_core else field) or ""
        if is_required and not text:
            yield FieldError.required(field)
        if byte_length(text) > limit:
            yield FieldError.invalid(field, "", f"can have at most {limit} characters")


RULES: Final = {
    ("", "ConfigMap"): KindRules(_config_map, _config_map_update, has_own_update=True),
    ("", "Event"): KindRules(_event),
    ("", "Secret"): KindRules(_secret, _secret_update, has_own_update=True),
    ("coordination.k8s.io", "Lease"): KindRules(_lease),
    ("events.k8s.io", "Event"): KindRules(_event),
}
