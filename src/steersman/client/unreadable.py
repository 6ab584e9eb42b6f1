# SPDX-License-Identifier: Apache-2.0
"""An object that cannot be used: who it is, what is wrong with it, and what stands in for it.

Made by `list_watch` when decoding fails, and by the `reflector` when the scheduler refuses an object. Nothing stands in for
most of them but their last good version. A pod on a node is an exception: its room is taken, readable or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, cast

import msgspec

from steersman import api
from steersman.api import codec
from steersman.api.lenient import readable_part
from steersman.errors import InputError

T = TypeVar("T", bound=api.Object)

UNNAMED = "(without a name)"


@dataclass(frozen=True, slots=True)
class Identity:
    """Key (namespace/name, or name), uid and resource version of an object; "" where these cannot be read either."""

    key: str
    uid: str
    resource_version: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """One version of an object."""

    identity: Identity
    reason: str
    #: The JSON in dicts and lists; None if it is not even that, or nothing in it can be told from what is wrong.
    document: Any


def from_text(text: bytes | msgspec.Raw, kind: type[api.Object], reason: str) -> Unreadable:
    document = _document(bytes(text))
    return Unreadable(_identity(document, kind), reason, document)


def from_object(obj: api.Object, reason: str, *, has_readable_part: bool) -> Unreadable:
    """Of an object that was decoded, but cannot be used."""
    meta = obj.metadata
    document = msgspec.to_builtins(obj) if has_readable_part else None
    return Unreadable(Identity(api.key(obj), meta.uid, meta.resource_version), reason, document)


def stand_in(unreadable: Unreadable, kind: type[T], last_good: T | None) -> T | None:
    """What the scheduler is to work with: the last good version; for a pod that has a node and no such version, what can be
    read of it; None for any other object."""
    if not issubclass(kind, api.Pod):
        return last_good
    return cast("T | None", _pod_stand_in(unreadable, cast("api.Pod | None", last_good)))


def _pod_stand_in(unreadable: Unreadable, last_good: api.Pod | None) -> api.Pod | None:
    part = readable_part(unreadable.document, api.Pod)
    if part is None or not part.spec.node_name or not part.metadata.name or not part.metadata.uid:
        return last_good
    if last_good is None:
        return part
    return last_good if last_good.spec.node_name == part.spec.node_name else _on_its_node(last_good, part)


def _on_its_node(last_good: api.Pod, part: api.Pod) -> api.Pod:
    """The last good version of a pod, which had no node, on the node that it has got meanwhile."""
    meta = msgspec.structs.replace(last_good.metadata, resource_version=part.metadata.resource_version)
    spec = msgspec.structs.replace(last_good.spec, node_name=part.spec.node_name)
    return msgspec.structs.replace(last_good, metadata=meta, spec=spec)


def _document(text: bytes) -> Any:
    """Bytes that are not UTF-8 are replaced, as Go does."""
    try:
        return codec.plain(text.decode("utf-8", "replace").encode())
    except InputError:
        return None


def _identity(document: Any, kind: type[api.Object]) -> Identity:
    meta = document.get("metadata") if isinstance(document, dict) else None
    texts = {name: value for name, value in meta.items() if isinstance(value, str)} if isinstance(meta, dict) else {}
    name = texts.get("name") or UNNAMED
    key = f"{texts.get('namespace', '')}/{name}" if kind.NAMESPACED else name
    return Identity(key, texts.get("uid", ""), texts.get("resourceVersion", ""))
