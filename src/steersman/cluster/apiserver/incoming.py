# SPDX-License-Identifier: Apache-2.0
"""Preparation of objects sent by clients: checks them against the path and sets what only a server
may set.

Pure functions of documents; `writes` calls them before validation.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Mapping
from typing import Any, Final

from steersman.api import definition_names, json_type, unhandled
from steersman.cluster.apiserver.resources import Resource
from steersman.cluster.apiserver.routing import RequestTarget
from steersman.cluster.apiserver.statuses import RequestRefused, bad_request
from steersman.cluster.apiserver.write_options import SCHEME
from steersman.cluster.store import Document
from steersman.cluster.store.errors import BadRequest

RESOURCE_VERSION_SET: Final = "resourceVersion should not be set on objects to be created"
_KEEPS_CREATED_STATUS: Final = frozenset({("", "nodes")})
"""Resources that keep the status sent with a new object."""
_UNCHANGED_BY_STATUS_UPDATE: Final = {"deployments": ("labels",), "pods": ("ownerReferences",)}
"""Metadata fields that a status update does not change, by resource."""
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_MAX_PREFIX: Final = 58
_SET_BY_SERVER: Final = ("selfLink", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "uid")
_REFUSED_IF_SENT: Final = ("deletionTimestamp", "deletionGracePeriodSeconds")
"""Fields an update must not set unless the object is terminating; others are ignored."""


def identified(target: RequestTarget, document: Document, *, needs_name: bool = False) -> Document:
    """Return the document with `apiVersion`, `kind` and namespace from the path. Raises 400 if they
    contradict it."""
    resource, metadata = target.resource, document.get("metadata")
    api_version, kind = document.get("apiVersion") or resource.api_version, document.get("kind") or resource.kind
    check_kind(resource, str(api_version), str(kind))
    if metadata is not None and not isinstance(metadata, dict):
        header = {"apiVersion": api_version, "kind": kind}
        why = f"json: cannot unmarshal {json_type(metadata)} into Go struct field {kind}.metadata of type v1.ObjectMeta"
        raise BadRequest(unhandled(header, why))
    metadata = dict(metadata or {})
    if not resource.namespaced:
        metadata.pop("namespace", None)
    else:
        namespace = metadata.get("namespace") or target.namespace
        if namespace != target.namespace:
            why = "the namespace of the provided object does not match the namespace sent on the request"
            raise bad_request(why)
        metadata["namespace"] = namespace
    check_name(target, metadata, is_required=needs_name)
    if target.name:
        metadata["name"] = target.name
    return {"apiVersion": api_version, "kind": kind, **document, "metadata": metadata}


def check_name(target: RequestTarget, metadata: Document, *, is_required: bool) -> None:
    """Raise 400 if the name in the body is missing or differs from the path."""
    sent = metadata.get("name")
    if is_required and not sent:
        why = "name must be provided"
        raise bad_request(f"the name of the object ({target.name} based on URL) was undeterminable: {why}")
    if target.name and sent and sent != target.name:
        raise bad_request(f"the name of the object ({sent}) does not match the name on the URL ({target.name})")


def check_kind(resource: Resource, api_version: str, kind: str) -> None:
    """Raise 400 if the body is not of the resource's kind, with upstream's conversion error."""
    if (api_version, kind) == (resource.api_version, resource.kind):
        return
    sent = f'{kind} in version "{api_version.rpartition("/")[2]}" cannot be handled as a {resource.kind}'
    if definition_names().get((api_version, kind)) is None:
        raise BadRequest(f'{sent}: no kind "{kind}" is registered for version "{api_version}" in scheme "{SCHEME}"')
    internal = f"{resource.group.partition('.')[0] or 'core'}.{resource.kind}"
    raise BadRequest(
        f"{sent}: converting ({api_version.rpartition('/')[2]}.{kind}) to ({internal}): unknown conversion"
    )


def as_new(resource: Resource, document: Document, now: str, *, is_custom: bool, is_dry_run: bool = False) -> Document:
    """Return an object to create: with uid and name, without other server fields."""
    metadata = dict(document["metadata"])
    if metadata.get("resourceVersion") and not is_dry_run:
        raise RequestRefused(500, "", RESOURCE_VERSION_SET)
    for name in (*_SET_BY_SERVER, "resourceVersion", "generation"):
        metadata.pop(name, None)
    if not metadata.get("name"):
        metadata["name"] = _generated_name(resource, metadata)
    metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": now}
    if is_custom or resource.counts_generation:
        metadata["generation"] = 1
    created = {**document, "metadata": metadata}
    if resource.subresource("status") is not None and (resource.group, resource.plural) not in _KEEPS_CREATED_STATUS:
        created.pop("status", None)
    return created


def as_changed(document: Document, old: Document, *, keeps_status: bool) -> Document:
    """Return an object to update, with the stored server fields; also the stored status if
    `keeps_status`."""
    metadata, before = dict(document["metadata"]), old["metadata"]
    for name in (*_SET_BY_SERVER, "generation"):
        if name not in _REFUSED_IF_SENT:
            metadata.pop(name, None)
        if name in before:
            metadata[name] = before[name]
    changed = {**document, "metadata": metadata}
    return _with_part(changed, old, "status") if keeps_status else changed


def as_changed_status(resource: Resource, document: Document, old: Document, *, is_custom: bool) -> Document:
    """Return `old` with the status and `resourceVersion` of the document, and for built-in objects
    with its metadata, except for the fields in `_UNCHANGED_BY_STATUS_UPDATE`."""
    metadata, sent = dict(old["metadata"]), document["metadata"]
    if not is_custom:
        kept = {
            name: metadata[name] for name in _UNCHANGED_BY_STATUS_UPDATE.get(resource.plural, ()) if name in metadata
        }
        dropped = (*_SET_BY_SERVER, "generation", *_UNCHANGED_BY_STATUS_UPDATE.get(resource.plural, ()))
        set_by_server = {name: metadata[name] for name in (*_SET_BY_SERVER, "generation") if name in metadata}
        metadata = {name: value for name, value in sent.items() if name not in dropped} | set_by_server | kept
    metadata["resourceVersion"] = sent.get("resourceVersion", "")
    if "managedFields" in sent:
        metadata["managedFields"] = sent["managedFields"]
    return _with_part({**old, "metadata": metadata}, document, "status")


def _with_part(document: Document, source: Mapping[str, Any], part: str) -> Document:
    taken = {name: value for name, value in document.items() if name != part}
    return {**taken, part: source[part]} if part in source else taken


def _generated_name(resource: Resource, metadata: Document) -> str:
    prefix = metadata.get("generateName")
    if not prefix and resource.plural == "limitranges":
        return str(uuid.uuid4())
    if not prefix:
        return ""  # validation reports it with the other errors
    return str(prefix)[:_MAX_PREFIX] + "".join(secrets.choice(_ALPHABET) for _ in range(5))
