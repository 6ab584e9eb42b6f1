# SPDX-License-Identifier: Apache-2.0
"""Objects that clients send, on their way to the store: that they are what the path says, and what only a server may set.

Pure functions of documents; `writes` calls them before anything is validated.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Mapping
from typing import Any, Final

from steersman.apiserver.resources import Resource
from steersman.apiserver.routing import RequestTarget
from steersman.apiserver.statuses import bad_request, invalid
from steersman.embedded import Document

RESOURCE_VERSION_SET: Final = "resourceVersion should not be set on objects to be created"
_KEPT_STATUS: Final = frozenset({("", "nodes")})
"""The resources whose status may come with a new object."""
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_PREFIX: Final = 58
_SET_BY_SERVER: Final = ("selfLink", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "uid")
_COUNTED_WITHOUT_STRUCT: Final = frozenset(
    {
        "customresourcedefinitions",
        "flowschemas",
        "horizontalpodautoscalers",
        "ingresses",
        "ingressclasses",
        "mutatingwebhookconfigurations",
        "networkpolicies",
        "prioritylevelconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    }
)
"""Resources whose changes of spec a kube-apiserver counts and for which `embedded.store` has no struct that says so."""


def identified(target: RequestTarget, document: Document) -> Document:
    """The document with `apiVersion`, `kind` and namespace, which the path implies; raises 400 where they contradict it."""
    resource, metadata = target.resource, document.get("metadata")
    api_version, kind = document.get("apiVersion") or resource.api_version, document.get("kind") or resource.kind
    if (api_version, kind) != (resource.api_version, resource.kind):
        sent, wanted = f"{api_version}, Kind={kind}", f"{resource.api_version}, Kind={resource.kind}"
        raise bad_request(f"{sent} in the body does not match {wanted} of the path")
    if metadata is not None and not isinstance(metadata, dict):
        raise bad_request(f"metadata: Invalid value: {metadata!r}: must be an object")
    metadata = dict(metadata or {})
    if not resource.namespaced:
        metadata.pop("namespace", None)
    else:
        namespace = metadata.get("namespace") or target.namespace
        if namespace != target.namespace:
            why = "the namespace of the provided object does not match the namespace sent on the request"
            raise bad_request(why)
        metadata["namespace"] = namespace
    if target.name and (metadata.get("name") or target.name) != target.name:
        sent = metadata["name"]
        raise bad_request(f"the name of the object ({sent}) does not match the name on the URL ({target.name})")
    if target.name:
        metadata["name"] = target.name
    return {"apiVersion": api_version, "kind": kind, **document, "metadata": metadata}


def as_new(resource: Resource, document: Document, now: str, *, is_custom: bool) -> Document:
    """An object to be created: with uid and name, without what only a server sets."""
    metadata = dict(document["metadata"])
    if metadata.get("resourceVersion"):
        raise bad_request(RESOURCE_VERSION_SET)
    for name in (*_SET_BY_SERVER, "resourceVersion", "generation"):
        metadata.pop(name, None)
    if not metadata.get("name"):
        metadata["name"] = _generated_name(resource, metadata)
    metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": now}
    if is_custom or resource.plural in _COUNTED_WITHOUT_STRUCT:
        metadata["generation"] = 1
    created = {**document, "metadata": metadata}
    if resource.subresource("status") is not None and (resource.group, resource.plural) not in _KEPT_STATUS:
        created.pop("status", None)
    return created


def as_changed(document: Document, old: Document, *, keeps_status: bool) -> Document:
    """An object to be updated: what only a server sets, and the status if that is written elsewhere, as it is stored."""
    metadata, before = dict(document["metadata"]), old["metadata"]
    for name in (*_SET_BY_SERVER, "generation"):
        metadata.pop(name, None)
        if name in before:
            metadata[name] = before[name]
    changed = {**document, "metadata": metadata}
    return _with_part(changed, old, "status") if keeps_status else changed


def as_changed_status(document: Document, old: Document) -> Document:
    """An object whose status is updated: all else as it is stored, in the version that the writer has seen."""
    metadata = dict(old["metadata"])
    sent = document["metadata"]
    metadata["resourceVersion"] = sent.get("resourceVersion", "")
    if "managedFields" in sent:
        metadata["managedFields"] = sent["managedFields"]
    return _with_part({**old, "metadata": metadata}, document, "status")


def _with_part(document: Document, source: Mapping[str, Any], part: str) -> Document:
    taken = {name: value for name, value in document.items() if name != part}
    return {**taken, part: source[part]} if part in source else taken


def _generated_name(resource: Resource, metadata: Document) -> str:
    prefix = metadata.get("generateName")
    if not prefix:
        raise invalid(resource, "", ["metadata.name: Required value: name or generateName is required"])
    return str(prefix)[:_LONGEST_PREFIX] + "".join(secrets.choice(_ALPHABET) for _ in range(5))
