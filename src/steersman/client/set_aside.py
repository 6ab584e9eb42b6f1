# SPDX-License-Identifier: Apache-2.0
"""Objects of the API server that cannot be used, by name: nothing else may suffer from them, and nobody overlooks them.

The `reflector` of each kind puts them here and takes them out again; `/debug/cache`, the log and metrics show them. An object
is here until a version of it can be used, or it is gone.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Final

from steersman.api import timestamps
from steersman.client.unreadable import Identity
from steersman.clock import Clock

logger = logging.getLogger(__name__)

LONGEST_REASON: Final = 500
IN_USE: Final = "an earlier version, or what can be read of it, is in use"
NOT_IN_USE: Final = "it is left out"


@dataclass(frozen=True, slots=True)
class SetAsideObject:
    """One object. `since` is when its first unusable version was seen, in seconds of the clock."""

    kind: str
    identity: Identity
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
    """All kinds together."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by_kind: dict[str, dict[str, SetAsideObject]] = {}
        #: Versions of objects that could not be used so far, by kind.
        self.counts: Counter[str] = Counter()

    def put(self, kind: str, identity: Identity, reason: str, *, is_in_use: bool) -> None:
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
        """After a list: objects with other keys are gone."""
        for key in [key for key in self._by_kind.get(kind, ()) if key not in keys]:
            self.discard(kind, key)

    def objects(self) -> Sequence[SetAsideObject]:
        """By kind, then by key."""
        kinds = sorted(self._by_kind.items())
        return [entry for _, entries in kinds for _, entry in sorted(entries.items())]

    def sizes(self) -> dict[str, int]:
        """How many there are now, of every kind that ever had one."""
        return {kind: len(entries) for kind, entries in self._by_kind.items()}
