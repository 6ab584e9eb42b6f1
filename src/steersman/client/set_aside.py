# SPDX-License-Identifier: Apache-2.0
"""Objects of the API server that cannot be used: what is wrong, what stands in for them, and the list that operators see.

`list_watch` makes an `Unreadable` when decoding fails, the `reflector` when the scheduler refuses an object. Nothing stands in
for most of them but their last good version. A pod on a node is an exception: its room is taken, readable or not.

The reflector of each kind puts them into `SetAside`, by name, and takes them out again when a version can be used or the object
is gone; `/debug/cache`, the log and metrics show them: nothing else may suffer from them, and nobody overlooks them.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Container, Sequence
from typing import Any, Final, TypeVar, cast

import msgspec

from steersman import api
from steersman.api import codec, timestamps
from steersman.api.lenient import readable_part
from steersman.clock import Clock
from steersman.errors import InputError

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=api.Object)

UNNAMED: Final = "(without a name)"
LONGEST_REASON: Final = 500
IN_USE: Final = "an earlier version, or what can be read of it, is in use"
NOT_IN_USE: Final = "it is left out"


# -- an object that cannot be used -------------------------------------------------------------------------------------


class ObjectIdentity(msgspec.Struct, frozen=True):
    """Key (namespace/name, or name), uid and resource version of an object; "" where these cannot be read either."""

    key: str
    uid: str
    resource_version: str


class Unreadable(msgspec.Struct, frozen=True):
    """One version of an object that cannot be used."""

    identity: ObjectIdentity
    reason: str
    #: The JSON in dicts and lists; None if it is not even that, or nothing in it can be told from what is wrong.
    document: Any

    @classmethod
    def from_text(cls, text: bytes | msgspec.Raw, kind: type[api.Object], reason: str) -> Unreadable:
        """An object whose JSON could not be decoded."""
        document = _document(bytes(text))
        return cls(_identity(document, kind), reason, document)

    @classmethod
    def from_object(cls, obj: api.Object, reason: str, *, has_readable_part: bool) -> Unreadable:
        """An object that was decoded, but that the scheduler refuses."""
        meta = obj.metadata
        document = msgspec.to_builtins(obj) if has_readable_part else None
        return cls(ObjectIdentity(api.key(obj), meta.uid, meta.resource_version), reason, document)


def stand_in(unreadable: Unreadable, kind: type[T], last_good: T | None) -> T | None:
    """The object that the scheduler is to work with: the last good version; for a pod that has a node and no such version,
    what can be read of it; None for any other object."""
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


def _identity(document: Any, kind: type[api.Object]) -> ObjectIdentity:
    meta = document.get("metadata") if isinstance(document, dict) else None
    texts = {name: value for name, value in meta.items() if isinstance(value, str)} if isinstance(meta, dict) else {}
    name = texts.get("name") or UNNAMED
    key = f"{texts.get('namespace', '')}/{name}" if kind.NAMESPACED else name
    return ObjectIdentity(key, texts.get("uid", ""), texts.get("resourceVersion", ""))


# -- all of them -------------------------------------------------------------------------------------------------------


class SetAsideObject(msgspec.Struct, frozen=True):
    """One object that is set aside. `since` is when its first unusable version was seen, in seconds of the clock."""

    kind: str
    identity: ObjectIdentity
    reason: str
    since: float
    #: The scheduler works with an earlier version, or with the part of it that can be read.
    is_in_use: bool

    def __str__(self) -> str:
        meta = self.identity
        return (
            f"{self.kind} {meta.key} (uid {meta.uid}, resource version {meta.resource_version}), since "
            f"{timestamps.render(self.since)}: {self.reason}; {IN_USE if self.is_in_use else NOT_IN_USE}"
        )


class SetAside:
    """The objects of all kinds that cannot be used."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by_kind: dict[str, dict[str, SetAsideObject]] = {}
        #: Versions of objects that could not be used so far, by kind.
        self.counts: Counter[str] = Counter()

    def put(self, kind: str, identity: ObjectIdentity, reason: str, *, is_in_use: bool) -> None:
        """Logs, and counts, every version of an object once."""
        reason = reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 1]}…"
        entries = self._by_kind.setdefault(kind, {})
        known = entries.get(identity.key)
        since = self._clock.now() if known is None or known.identity.uid != identity.uid else known.since
        entries[identity.key] = SetAsideObject(kind, identity, reason, since, is_in_use)
        if known is None or known.identity != identity:
            self.counts[kind] += 1
            use = IN_USE if is_in_use else NOT_IN_USE
            logger.error("%s %s cannot be used: %s; %s", kind, identity.key, reason, use)

    def discard(self, kind: str, key: str) -> None:
        """The object can be used, or is gone."""
        entries = self._by_kind.get(kind)
        if entries and entries.pop(key, None) is not None:
            logger.info("%s %s is not set aside any more", kind, key)

    def keep_only(self, kind: str, keys: Container[str]) -> None:
        """Forgets the objects with other keys, which a list has shown to be gone."""
        for key in [key for key in self._by_kind.get(kind, ()) if key not in keys]:
            self.discard(kind, key)

    def objects(self) -> Sequence[SetAsideObject]:
        """The objects that are set aside, by kind, then by key."""
        kinds = sorted(self._by_kind.items())
        return [entry for _, entries in kinds for _, entry in sorted(entries.items())]

    def sizes(self) -> dict[str, int]:
        """How many there are now, of every kind that ever had one."""
        return {kind: len(entries) for kind, entries in self._by_kind.items()}
