# SPDX-License-Identifier: Apache-2.0
"""Bounded log of all writes, read by watches.

`Store` appends a commit per resource version; a watch (`apiserver.watches`) only stores its
position. A slow watcher thus blocks no writer and uses no memory: once the log no longer has its
version, it gets `Expired`.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from steersman.api import Object
from steersman.base.graph_copy import copied_attributes, shallow, shared_by_copies
from steersman.cluster.store.errors import Expired, Timeout


class EventType(enum.StrEnum):
    """Type of a change to an object, as in watch events."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


ADDED: Final = EventType.ADDED
MODIFIED: Final = EventType.MODIFIED
DELETED: Final = EventType.DELETED
BOOKMARK: Final = EventType.BOOKMARK


# Not in reference cycles, like the objects it holds.
@shared_by_copies
class Commit(msgspec.Struct, frozen=True, gc=False):
    """A write: `old` is None for an addition, `new` for a deletion, whose `old` has the version of
    the deletion.

    `document` is the whole JSON of `new`, or of `old` for a deletion; `old_document` is the
    document before. Both are None in a store without documents.
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
    """The latest commits, between `limit` and twice as many.

    Invariant: the commit at index i has the version `oldest + i + 1`.
    """

    def __init__(self, limit: int, version: int) -> None:
        self._limit = limit
        self._commits: list[Commit] = []
        #: Version before the oldest retained commit.
        self.oldest = version
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def version(self) -> int:
        """Version of the latest commit."""
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
        """Replace the log by the commits that led to a version; by none if versions are missing."""
        self._commits = list(commits)
        self.oldest = version - len(commits)
        if any(commit.version != self.oldest + index for index, commit in enumerate(commits, start=1)):
            self._commits, self.oldest = [], version

    def since(self, version: int) -> Sequence[Commit]:
        """Return the commits after a version. Raises `Expired` if the log begins later, `Timeout`
        for a future version."""
        if version < self.oldest:
            raise Expired(version, self.oldest)
        if version > self.version:
            raise Timeout(version, self.version)
        return self._commits[version - self.oldest :]

    async def next_change(self) -> None:
        """Wait for the next commit or `wake`."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            await waiting
        finally:
            self._waiting.discard(waiting)

    def wake(self) -> None:
        """Wake all coroutines in `next_change`."""
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)
