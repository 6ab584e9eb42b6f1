# SPDX-License-Identifier: Apache-2.0
"""The objects of a cluster, read once: for questions that load them several times, each time a little different.

Every simulation that is loaded imports the files with plugins anew, and with them the kinds that these declare. So objects of
such kinds stay documents, which any simulation can read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, BinaryIO, Final, NamedTuple, TypeAlias

from steersman import api
from steersman.api import codec
from steersman.api.field_check import Validation
from steersman.sim.notes import PASSED_OVER
from steersman.sim.sources import Source, gather
from steersman.sim.workloads import counted

BUILT_IN: Final = frozenset(api.KINDS.values())
ReadObject: TypeAlias = api.Object | dict[str, Any]
"""An object, or of a kind that a plugin declares, its document."""


class ReadObjects(NamedTuple):
    """Objects in the order in which they are stored, and what the reader should know about the input."""

    objects: list[ReadObject]
    notes: tuple[str, ...]


def read_objects(
    sources: Iterable[Source],
    kinds: Collection[type[api.Object]],
    stdin: BinaryIO | None = None,
    validate: Validation = "warn",
) -> ReadObjects:
    """The objects of files and of whatever else `Simulation.load` takes; `kinds` are those that the schedulers know. Raises
    `InputError`."""
    gathered = gather(list(sources), stdin, kinds, validate)
    skipped = (PASSED_OVER.format(counted(gathered.skipped)),) if gathered.skipped else ()
    objects: list[ReadObject] = [
        codec.to_dict(given.object) if type(given.object) not in BUILT_IN else given.object
        for given in gathered.objects
    ]
    return ReadObjects(objects, (*skipped, *gathered.notes))
