# SPDX-License-Identifier: Apache-2.0
"""Heartbeats in a watch of nodes: updates that change no field of `api.Node`.

Kubelets update every node regularly, and most of a node's JSON is its images. `list_watch` checks
an update here before decoding it; the `reflector` gets a heartbeat as a bookmark.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from steersman import api
from steersman.base import CacheSpec
from steersman.framework import field_getter
from steersman.kube.client.invalid_objects import Unreadable

PREFIX: Final = b'{"type":"MODIFIED",'
"""Start of an update's line, as API servers write it. Any other line is decoded."""

HEARTBEATS: Final = CacheSpec(
    name="digests of nodes",
    attributes=("Heartbeats._entries",),
    contents="the last decoded update of a node, with a digest of its JSON",
    key="name of the node",
    invalidation="valid only while the reflector uses this object; removed by a deletion, an unreadable update or a list",
    limit="one per node of the cluster",
    reference="decoding the line: the object equals the one in use except for metadata.resourceVersion",
    checked_by="tests/client/test_heartbeats.py",
)

_NO_TEXT: Final = msgspec.Raw()


def _texts_of(kind: type[msgspec.Struct], **decoded: tuple[Any, Any]) -> type[Any]:
    """Return a struct with the fields of `kind` as undecoded JSON, except `decoded` ones, which
    have a type and a default. A field added to the API structs is included."""
    fields = []
    for name, wire_name in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True):
        field_type, default = decoded.get(name, (msgspec.Raw, _NO_TEXT))
        fields.append((name, field_type, msgspec.field(name=wire_name, default=default)))
    return msgspec.defstruct(f"{kind.__name__}Texts", fields, frozen=True, gc=False)


_METADATA: Final = _texts_of(api.ObjectMeta, name=(str, ""), resource_version=(str, ""))
_STATUS: Final = _texts_of(api.NodeStatus, conditions=(tuple[api.Condition, ...], ()))
_NODE: Final = _texts_of(api.Node, metadata=(_METADATA, _METADATA()), status=(_STATUS, _STATUS()))
_LINE: Final = msgspec.defstruct("NodeLineTexts", [("type", str), ("object", _NODE)], frozen=True, gc=False)

_metadata_texts: Final[Any] = field_getter(api.ObjectMeta, "", {}, ("name", "resource_version"))
_status_texts: Final[Any] = field_getter(api.NodeStatus, "", {}, ("conditions",))


class Update(NamedTuple):
    """Name, version, conditions and digest of a node's update; its other fields are not decoded."""

    name: str
    resource_version: str
    conditions: tuple[api.Condition, ...]
    #: 64-bit hash of the JSON of all other fields.
    digest: int


class Heartbeats:
    """The last update of every node, to recognise the next one as a heartbeat."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[int, api.Node]] = {}
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_LINE)

    def read(self, line: bytes) -> Update | None:
        """Read an update; None if the line is anything else, or unusual."""
        if not line.startswith(PREFIX):
            return None
        try:
            event = self._decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        node = event.object
        metadata, status = node.metadata, node.status
        # No JSON text contains the separator.
        texts = b"\0".join((node.spec, *_metadata_texts(metadata), *_status_texts(status)))
        return Update(metadata.name, metadata.resource_version, status.conditions, hash(texts))

    def is_heartbeat(self, update: Update, in_use: Mapping[str, api.Object]) -> bool:
        """Return whether the update differs from the object in use only in fields that are not
        read."""
        digest, node = self._entries.get(update.name, (None, None))
        return (
            digest == update.digest
            and node is not None
            and in_use.get(update.name) is node
            and node.status.conditions == update.conditions
            and bool(update.resource_version)
        )

    def remember(self, update: Update | None, obj: api.Object | Unreadable) -> None:
        """Store the decoded object of a line, with what `read` returned."""
        if isinstance(obj, api.Node) and update is not None:
            self._entries[update.name] = update.digest, obj
        else:
            self._entries.pop(obj.identity.key if isinstance(obj, Unreadable) else obj.metadata.name, None)

    def clear(self) -> None:
        """Forget all nodes, before a list."""
        self._entries.clear()
