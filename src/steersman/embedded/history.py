# SPDX-License-Identifier: Apache-2.0
"""The log of all writes, bounded: what watches read.

`Store` appends one commit per resource version; a `Watch` remembers only the version up to which it has read. A slow
watcher therefore holds up nobody and costs no memory: once the log has moved on, it is told that its version expired.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from steersman.api import Object
from steersman.embedded.errors import Expired, Timeout
from steersman.graph_copy import copied_attributes, shallow, shared_by_copies


class EventType(enum.StrEnum):
    """The type of a change of an object, spelled as in watch events."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


ADDED: Final = EventType.ADDED
MODIFIED: Final = EventType.MODIFIED
DELETED: Final = EventType.DELETED
BOOKMARK: Final = EventType.BOOKMARK


# Part of no reference cycle, like the objects it holds.
@shared_by_copies
class Commit(msgspec.Struct, frozen=True, gc=False):
    """One write: `old` is None for an addition, `new` for a deletion, whose `old` has the version of the deletion.

    `document` is the whole JSON of `new`, of a deletion that of `old`; `old_document` what was stored before. Both are None in
    a store that keeps no documents.
    """

    version: int
    kind: type[Object]
    type: EventType
    old: Object | None
    new: Object | None
    document: dict[str, Any] | None = None
    old_document: dict[str, Any] | None = None


@copied_attributes(_commits=shallow)
class WriteHistory:
    """The latest commits: at least `limit` of them, at most twice as many.

    Invariant: the commit at index i has the version `oldest + i + 1`.
    """

    def __init__(self, limit: int, version: int) -> None:
        self._limit = limit
        self._commits: list[Commit] = []
        #: The version after which the kept commits begin.
        self.oldest = version
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def version(self) -> int:
        """The version of the latest commit."""
        return self.oldest + len(self._commits)

    def append(self, commit: Commit) -> None:
        commits = self._commits
        commits.append(commit)
        if len(commits) >= 2 * self._limit:
            del commits[: self._limit]
            self.oldest += self._limit
        if self._waiting:
            self.wake()

    def restore(self, version: int, commits: Sequence[Commit]) -> None:
        """Begins with the commits that led to a version, as many of them as follow on each other without a gap."""
        self._commits = list(commits)
        self.oldest = version - len(commits)
        if any(commit.version != self.oldest + index for index, commit in enumerate(commits, start=1)):
            self._commits, self.oldest = [], version

    def since(self, version: int) -> Sequence[Commit]:
        """The commits after a version; raises `Expired` for one before the log begins, `Timeout` for a future one."""
        if version < self.oldest:
            raise Expired(version, self.oldest)
        if version > self.version:
            raise Timeout(version, self.version)
        return self._commits[version - self.oldest :]

    async def next_change(self) -> None:
        """Returns after the next commit, or `wake`."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            await waiting
        finally:
            self._waiting.discard(waiting)

    def wake(self) -> None:
        """Lets everyone who waits for a change look again."""
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)
