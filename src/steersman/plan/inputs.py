# SPDX-License-Identifier: Apache-2.0
"""Objects of a cluster, read once for questions that load variants of them several times.

Every loaded simulation imports the plugin files again, with the kinds that they declare. Objects of
such kinds therefore stay documents, which any simulation can read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, BinaryIO, Final, NamedTuple, TypeAlias

from steersman import api
from steersman.api import Validation, codec
from steersman.simulation import PASSED_OVER, Source, counted, gather

BUILT_IN: Final = frozenset(api.KINDS.values())
ReadObject: TypeAlias = api.Object | dict[str, Any]
"""An object, or the document of an object whose kind a plugin declares."""


class ReadObjects(NamedTuple):
    """Objects in storage order, and notes about the input."""

    objects: list[ReadObject]
    notes: tuple[str, ...]


def read_objects(
    sources: Iterable[Source],
    kinds: Collection[type[api.Object]],
    stdin: BinaryIO | None = None,
    validate: Validation = "warn",
) -> ReadObjects:
    """Return the objects of sources as for `Simulation.load`; `kinds` are those known to the
    schedulers. Raises `InputError`."""
    gathered = gather(list(sources), stdin, kinds, validate)
    skipped = (PASSED_OVER.format(counted(gathered.skipped)),) if gathered.skipped else ()
    objects: list[ReadObject] = [
        codec.to_dict(given.object) if type(given.object) not in BUILT_IN else given.object
        for given in gathered.objects
    ]
    return ReadObjects(objects, (*skipped, *gathered.notes))
