# SPDX-License-Identifier: Apache-2.0
"""Objects of the API server that cannot be used: the reason, a replacement, and the list that
operators see.

`list_watch` makes an `Unreadable` when decoding fails, the `reflector` when the scheduler refuses
an object. The replacement is the last good version. A pod on a node takes room whether it can be
read or not, so its readable part is used.

The reflector of each kind adds invalid objects to `InvalidObjects`, and removes them when a later
version can be used or the object is gone. `/debug/cache`, the log and metrics show them.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Container, Sequence
from typing import Any, Final, TypeVar, cast

import msgspec

from steersman import api
from steersman.api import codec, readable_part, timestamps
from steersman.base import Clock, InputError

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=api.Object)

UNNAMED: Final = "(without a name)"
MAX_REASON_LENGTH: Final = 500
IN_USE: Final = "an earlier version, or what can be read of it, is in use"
NOT_IN_USE: Final = "it is left out"


# -- one invalid object ------------------------------------------------------------------------------------------------


class ObjectIdentity(msgspec.Struct, frozen=True):
    """Key, uid and resource version of an object; "" if they cannot be read."""

    key: str
    uid: str
    resource_version: str


class Unreadable(msgspec.Struct, frozen=True):
    """A version of an object that cannot be used."""

    identity: ObjectIdentity
    reason: str
    #: The decoded JSON; None if it is not JSON, or no part of it can be used.
    document: Any

    @classmethod
    def from_text(cls, text: bytes | msgspec.Raw, kind: type[api.Object], reason: str) -> Unreadable:
        """Describe an object whose JSON could not be decoded."""
        document = _document(bytes(text))
        return cls(_identity(document, kind), reason, document)

    @classmethod
    def from_object(cls, obj: api.Object, reason: str, *, has_readable_part: bool) -> Unreadable:
        """Describe an object that was decoded, but that the scheduler refuses."""
        meta = obj.metadata
        document = msgspec.to_builtins(obj) if has_readable_part else None
        return cls(ObjectIdentity(api.key(obj), meta.uid, meta.resource_version), reason, document)


def stand_in(unreadable: Unreadable, kind: type[T], last_good: T | None) -> T | None:
    """Return the object that the scheduler uses instead: the last good version; the readable part
    of a pod that has a node and no such version; None for any other object."""
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
    """Return the last good version of a pod, with the node that a later version has."""
    meta = msgspec.structs.replace(last_good.metadata, resource_version=part.metadata.resource_version)
    spec = msgspec.structs.replace(last_good.spec, node_name=part.spec.node_name)
    return msgspec.structs.replace(last_good, metadata=meta, spec=spec)


def _document(text: bytes) -> Any:
    """Decode JSON; bytes that are not UTF-8 are replaced, as in Go."""
    try:
        return codec.plain(text.decode("utf-8", "replace").encode())
    except InputError:
        return None


def _identity(document: Any, kind: type[api.Object]) -> ObjectIdentity:
    meta = document.get("metadata") if isinstance(document, dict) else None
    texts = {name: value for name, value in meta.items() if isinstance(value, str)} if isinstance(meta, dict) else {}
    name = texts.get("name") or UNNAMED
    key = f"{texts.get('namespace', '')}/{name}" if kind.NAMESPACED else name
    return ObjectIdentity(key, texts.get("uid", ""), texts.get("resourceVersion", ""))


# -- all invalid objects -----------------------------------------------------------------------------------------------


class InvalidObject(msgspec.Struct, frozen=True):
    """An unusable object. `since` is the time of its first unusable version."""

    kind: str
    identity: ObjectIdentity
    reason: str
    since: float
    #: Whether the scheduler uses an earlier version, or the readable part.
    is_in_use: bool

    def __str__(self) -> str:
        meta = self.identity
        return (
            f"{self.kind} {meta.key} (uid {meta.uid}, resource version {meta.resource_version}), since "
            f"{timestamps.render(self.since)}: {self.reason}; {IN_USE if self.is_in_use else NOT_IN_USE}"
        )


class InvalidObjects:
    """The objects of all kinds that cannot be used."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by_kind: dict[str, dict[str, InvalidObject]] = {}
        #: Number of unusable versions so far, by kind.
        self.counts: Counter[str] = Counter()

    def put(self, kind: str, identity: ObjectIdentity, reason: str, *, is_in_use: bool) -> None:
        """Add an object; every version is logged and counted once."""
        reason = reason if len(reason) <= MAX_REASON_LENGTH else f"{reason[: MAX_REASON_LENGTH - 1]}…"
        entries = self._by_kind.setdefault(kind, {})
        known = entries.get(identity.key)
        since = self._clock.now() if known is None or known.identity.uid != identity.uid else known.since
        entries[identity.key] = InvalidObject(kind, identity, reason, since, is_in_use)
        if known is None or known.identity != identity:
            self.counts[kind] += 1
            use = IN_USE if is_in_use else NOT_IN_USE
            logger.error("%s %s cannot be used: %s; %s", kind, identity.key, reason, use)

    def discard(self, kind: str, key: str) -> None:
        """Remove an object that can be used again, or is gone."""
        entries = self._by_kind.get(kind)
        if entries and entries.pop(key, None) is not None:
            logger.info("%s %s is valid again", kind, key)

    def keep_only(self, kind: str, keys: Container[str]) -> None:
        """Remove the objects with other keys, which a list has shown to be gone."""
        for key in [key for key in self._by_kind.get(kind, ()) if key not in keys]:
            self.discard(kind, key)

    def objects(self) -> Sequence[InvalidObject]:
        """Return the invalid objects by kind, then by key."""
        kinds = sorted(self._by_kind.items())
        return [entry for _, entries in kinds for _, entry in sorted(entries.items())]

    def sizes(self) -> dict[str, int]:
        """Return the number of invalid objects of every kind that ever had one."""
        return {kind: len(entries) for kind, entries in self._by_kind.items()}
