# SPDX-License-Identifier: Apache-2.0
"""Exact counts of volumes by driver on rows that may be near a limit, and the volumes in use.

`columns` finds these rows and gets their counts here. A count stays valid until the row's pods
change, or a claim, volume, storage class or attachment that was looked up for it. Every lookup is
recorded, so that a change invalidates the right rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple, TypeVar

import numpy as np

from steersman.api import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment
from steersman.base import CacheSpec
from steersman.base.graph_copy import copied_attributes, shallow, shared_by_copies
from steersman.framework import IntColumn, NodesView, Objects, Status
from steersman.scheduler.plugins.node_volume_limits.attachments import (
    Attachable,
    AttachableVolumes,
    Attachments,
    attached_volumes,
)

K = TypeVar("K")
KeyT = TypeVar("KeyT", bound=Hashable)

ObjectKey = tuple[type[object], str]

#: The kinds of the objects that are looked up for a count.
_READ_KINDS = (PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment)
#: Rows without a CSINode have no limit and are not counted; a CSINode's content changes no count.
_SOME_NODE = CSINode()


@shared_by_copies
class RowCount(NamedTuple):
    """The volumes of one row."""

    #: The number of attached or used volumes by driver.
    by_driver: Mapping[str, int]
    #: The unique names of the volumes that pods on the row use.
    in_use: frozenset[str]
    #: The error of a volume of a pod on the row; None if all volumes were counted.
    fault: Status | None
    #: The objects that were looked up, whether they exist or not.
    looked_up: frozenset[ObjectKey]


class _NotedLookups:
    """Object lookup that records the keys of the requested objects."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self.noted: set[ObjectKey] = set()

    def get(self, kind: type[K], key: str) -> K | None:
        self.noted.add((kind, key))
        return self._objects.get(kind, key)


COUNTED_ROWS = CacheSpec(
    name="volumes of rows near a limit",
    attributes=(
        "CountedRows._rows",
        "CountedRows._columns",
        "CountedRows._users",
        "CountedRows._readers",
        "CountedRows._versions",
    ),
    contents="how many volumes of each driver are on a row, and which of them pods use",
    key="row",
    invalidation=(
        "`forget`, with every change of the row; versions of claims, volumes, storage classes and attachments: the rows go for "
        "which a changed object was looked up"
    ),
    limit="rows that were near a limit; one column for each driver with a limit",
    reference="`CountedRows.count` of the row",
    checked_by="tests/plugins/node_volume_limits/test_counted_rows.py",
    is_inline=True,
)


@copied_attributes(_rows=shallow, _users=shallow, _readers=shallow)
class CountedRows:
    """Volume counts of the rows that were requested."""

    def __init__(self, view: NodesView, objects: Objects, attachments: Attachments) -> None:
        self._view = view
        self._objects = objects
        self._attachments = attachments
        self._rows: dict[int, RowCount] = {}
        #: int64[capacity] by driver: the number of volumes on the counted rows.
        self._columns: dict[str, IntColumn] = {}
        #: By unique name of a volume: the rows whose pods use it.
        self._users: dict[str, frozenset[int]] = {}
        #: By object: the rows for which it was looked up.
        self._readers: dict[ObjectKey, frozenset[int]] = {}
        self._versions = self._current_versions()

    def forget(self, rows: Iterable[int] | None) -> None:
        """Discard the counts of these changed rows, or of all rows if None."""
        gone = self._rows if rows is None else {row: self._rows[row] for row in rows if row in self._rows}
        if len(gone) == len(self._rows):
            self._rows, self._users, self._readers, self._columns = {}, {}, {}, {}
            return
        for row in gone:
            del self._rows[row]
        _drop(self._users, ((name, row) for row, count in gone.items() for name in count.in_use))
        _drop(self._readers, ((key, row) for row, count in gone.items() for key in count.looked_up))

    def catch_up(self, rows: Iterable[int]) -> None:
        """Count the given rows that have no valid count."""
        self._forget_outdated()
        new = {row: self.count(row) for row in rows if row not in self._rows}
        self._rows.update(new)
        _add(self._users, ((name, row) for row, count in new.items() for name in count.in_use))
        _add(self._readers, ((key, row) for row, count in new.items() for key in count.looked_up))
        for driver, column in self._columns.items():
            for row, count in new.items():
                column[row] = count.by_driver.get(driver, 0)

    def count(self, row: int) -> RowCount:
        """Count the current volumes of a row."""
        lookups, info = _NotedLookups(self._objects), self._view.info(row)
        volumes, in_use = AttachableVolumes(lookups), Attachable()
        for pod in info.pods:
            fault = volumes.of_existing(pod.pod, _SOME_NODE, in_use)
            if fault is not None:
                return RowCount({}, frozenset(), fault, frozenset(lookups.noted))
        attachments = self._attachments.to_node(info.name)
        attached = attached_volumes(attachments, lookups)
        lookups.noted.update((VolumeAttachment, attachment.metadata.name) for attachment in attachments)
        counts = Counter((attached | in_use).values())
        return RowCount(counts, frozenset(in_use), None, frozenset(lookups.noted))

    def faults(self, rows: Iterable[int]) -> dict[int, Status]:
        """Return the faults of volumes of pods on these counted rows, by row."""
        counts = self._rows
        return {row: fault for row in rows if (fault := counts[row].fault) is not None}

    def of_driver(self, driver: str) -> IntColumn:
        """Return the number of volumes of the driver on each counted row."""
        column = self._columns.get(driver)
        if column is None:
            column = self._columns[driver] = np.zeros(self._view.capacity, np.int64)
            for row, count in self._rows.items():
                column[row] = count.by_driver.get(driver, 0)
        return column

    def keep_drivers(self, drivers: Iterable[str]) -> None:
        """Drop the columns of all other drivers."""
        self._columns = {driver: column for driver, column in self._columns.items() if driver in drivers}

    def rows_using(self, volume: str) -> frozenset[int]:
        """Return the counted rows on which a pod uses the volume with this unique name."""
        return self._users.get(volume, frozenset())

    def _current_versions(self) -> dict[type[object], int]:
        return {kind: self._objects.version(kind) for kind in _READ_KINDS}

    def _forget_outdated(self) -> None:
        versions = self._current_versions()
        if versions == self._versions:
            return
        outdated: set[int] = set()
        for kind, version in versions.items():
            changed = self._objects.changed_since(kind, self._versions[kind]) if version != self._versions[kind] else ()
            if changed is None:
                self.forget(None)
                break
            outdated.update(row for key in changed for row in self._readers.get((kind, key), ()))
            if kind is VolumeAttachment:
                outdated.update(self._rows_attached_by(changed))
        self.forget(outdated)
        self._versions = versions

    def _rows_attached_by(self, attachments: Iterable[str]) -> Iterable[int]:
        """Yield the rows of the nodes that these VolumeAttachments name now."""
        for key in attachments:
            attachment = self._objects.get(VolumeAttachment, key)
            row = None if attachment is None else self._view.row_of(attachment.spec.node_name)
            if row is not None:
                yield row


def _add(index: dict[KeyT, frozenset[int]], entries: Iterable[tuple[KeyT, int]]) -> None:
    """Add rows to the index."""
    for key, rows in _grouped(entries).items():
        index[key] = index.get(key, frozenset()) | rows


def _drop(index: dict[KeyT, frozenset[int]], entries: Iterable[tuple[KeyT, int]]) -> None:
    """Remove rows from the index, and keys without rows."""
    for key, rows in _grouped(entries).items():
        left = index.pop(key) - rows
        if left:
            index[key] = left


def _grouped(entries: Iterable[tuple[KeyT, int]]) -> dict[KeyT, set[int]]:
    rows: defaultdict[KeyT, set[int]] = defaultdict(set)
    for key, row in entries:
        rows[key].add(row)
    return rows
