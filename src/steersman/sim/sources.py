# SPDX-License-Identifier: Apache-2.0
"""The input of a simulation, as objects: paths of manifests and dumps are read, objects are taken as they are.

`Simulation` stores the objects in the order that comes out of here: what others refer to first, pods last, each kind in the
order of the input.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from os import PathLike, fspath
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from steersman import api
from steersman.api import codec, manifests, quantity_checks, timestamps
from steersman.api.documents import SourcePlace
from steersman.api.field_check import FieldCheck, Validation
from steersman.embedded import in_creation_order
from steersman.errors import InputError
from steersman.framework.watching import is_custom
from steersman.graph_copy import shared_by_copies

Source: TypeAlias = "str | PathLike[str] | api.Object | dict[str, Any] | Iterable[Source]"
"""A file or directory, an object, an object as JSON has it, or several of these."""


@shared_by_copies
class Given(NamedTuple):
    """An object, and where it was read from, if anywhere."""

    object: api.Object
    place: SourcePlace | None = None
    #: Everything that was written about a pending pod, as JSON or plain values, if it was kept.
    document: bytes | dict[str, Any] | None = None


@shared_by_copies
class Gathered(NamedTuple):
    """Everything that was given, how much of it was of kinds that the simulation does not know, and what else there is to say
    about it: files that were passed over, unknown fields."""

    objects: list[Given]
    skipped: Counter[str]
    notes: tuple[str, ...] = ()


def gather(
    sources: Iterable[Source],
    stdin: BinaryIO | None = None,
    custom: Collection[type[api.Object]] = (),
    validate: Validation = "warn",
) -> Gathered:
    """All objects, also of `custom` kinds, in the order in which they are to be stored. Raises `InputError`, also for unknown
    fields if `validate` says so."""
    custom = [kind for kind in custom if is_custom(kind)]
    given: list[Given] = []
    skipped: Counter[str] = Counter()
    notes: list[str] = []
    field_check = FieldCheck(validate)
    flat = _flat(sources, custom, field_check)
    for are_paths, some in groupby(flat, key=lambda source: isinstance(source, str)):
        if are_paths:
            loaded = manifests.load(map(str, some), stdin, custom, validate)
            given += (Given(found.object, found.place, found.document) for found in loaded.objects)
            skipped.update(loaded.skipped)
            notes += loaded.notes
        else:
            given += (item for item in some if isinstance(item, Given))
    return Gathered(_in_order(given), skipped, (*notes, *field_check.lines()))


def latest_moment(objects: Iterable[api.Object]) -> float | None:
    """The latest time at which something happened in a dump; None in manifests, where nothing has happened yet."""
    written = {obj.metadata.creation_timestamp for obj in objects} - {None}
    terminating = [obj.metadata for obj in objects if obj.metadata.deletion_timestamp is not None]
    moments = [timestamps.parse(text) for text in written if text]
    moments += [
        timestamps.parse(meta.deletion_timestamp) - (meta.deletion_grace_period_seconds or 0)
        for meta in terminating
        if meta.deletion_timestamp
    ]
    return max(moments, default=None)


def _flat(source: object, custom: Collection[type[api.Object]], field_check: FieldCheck) -> Iterator[str | Given]:
    """Paths and objects in order, whatever they are wrapped in."""
    if isinstance(source, (str, PathLike)):
        yield fspath(source)
    elif isinstance(source, api.Object):
        quantity_checks.check_quantities(source)
        yield Given(source)
    elif isinstance(source, dict):
        obj = codec.convert_object(source, custom)
        field_check.check_document(source, f"{obj.KIND} {api.key(obj)}")
        quantity_checks.check_quantities(obj)
        yield Given(obj, document=source if isinstance(obj, api.Pod) and not obj.spec.node_name else None)
    elif isinstance(source, Iterable):
        for item in source:
            yield from _flat(item, custom, field_check)
    else:
        raise InputError("is neither a path nor an API object", value=repr(source))


def _in_order(given: list[Given]) -> list[Given]:
    order = in_creation_order([item.object for item in given])
    position = {id(obj): index for index, obj in enumerate(order)}
    return sorted(given, key=lambda item: (isinstance(item.object, api.Pod), position[id(item.object)]))
