# SPDX-License-Identifier: Apache-2.0
"""Reading of a simulation's input: loads paths of manifests and dumps, and accepts objects.

The objects are returned in the order in which `Simulation` stores them: referenced objects first,
pods last, each kind in the order of the input.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from os import PathLike, fspath
from typing import Any, BinaryIO, Final, NamedTuple, TypeAlias

from steersman import api
from steersman.api import ObjectCheck, SourcePlace, Validation, codec, manifests, quantity_checks, timestamps
from steersman.api.cel import find_selector_errors
from steersman.base import InputError
from steersman.base.graph_copy import shared_by_copies
from steersman.cluster.store import in_creation_order
from steersman.framework import is_custom
from steersman.scheduler.host import frozen_heap

MAX_PODS_OF_A_WORKLOAD: Final = 1_000_000
_REPLICATED: Final = (api.Deployment, api.ReplicaSet, api.ReplicationController, api.StatefulSet, api.Job)

Source: TypeAlias = "str | PathLike[str] | api.Object | dict[str, Any] | Iterable[Source]"
"""A file or directory, an object, an object as JSON has it, or several of these."""


class ListedObjects(list[api.Object]):
    """All objects of a live cluster: other objects do not exist, and no stand-ins are assumed."""


@shared_by_copies
class Given(NamedTuple):
    """An input object, and the place in a file from which it was read, if any."""

    object: api.Object
    place: SourcePlace | None = None
    #: The complete source of a pending pod, as JSON or plain values, if it is retained.
    document: bytes | dict[str, Any] | None = None


@shared_by_copies
class Gathered(NamedTuple):
    """The objects of the input, with the number of skipped objects by kind, and notes about skipped
    files and unknown fields."""

    objects: list[Given]
    skipped: Counter[str]
    notes: tuple[str, ...] = ()
    #: Whether the objects are all those of a live cluster.
    is_complete: bool = False


@frozen_heap()
def gather(
    sources: Sequence[Source],
    stdin: BinaryIO | None = None,
    custom: Collection[type[api.Object]] = (),
    validate: Validation = "warn",
) -> Gathered:
    """Return all objects, including `custom` kinds, in the order in which they are stored. Raises
    `InputError`, also for unknown fields if `validate` is "strict"."""
    custom = [kind for kind in custom if is_custom(kind)]
    given: list[Given] = []
    skipped: Counter[str] = Counter()
    notes: list[str] = []
    object_check = ObjectCheck(validate, find_selector_errors)
    flat = _flat(sources, custom, object_check, skipped)
    for are_paths, some in groupby(flat, key=lambda source: isinstance(source, str)):
        if are_paths:
            loaded = manifests.load(map(str, some), stdin, custom, validate, find_selector_errors)
            given += (Given(found.object, found.place, found.document) for found in loaded.objects)
            skipped.update(loaded.skipped)
            notes += loaded.notes
        else:
            given += (item for item in some if isinstance(item, Given))
    object_check.raise_errors()
    for item in given:
        _refuse_too_many_pods(item)
    is_complete = any(isinstance(source, ListedObjects) for source in sources)
    return Gathered(_in_order(given), skipped, (*notes, *object_check.lines()), is_complete)


def _refuse_too_many_pods(given: Given) -> None:
    obj = given.object
    field = "parallelism" if isinstance(obj, api.Job) else "replicas"
    count = getattr(getattr(obj, "spec", None), field, None)
    if not isinstance(obj, _REPLICATED) or not isinstance(count, int) or count <= MAX_PODS_OF_A_WORKLOAD:
        return
    place = {} if given.place is None else given.place._asdict()
    raise InputError(
        "is more than a simulation creates",
        field=f"spec.{field}",
        value=count,
        hint=f"use at most {MAX_PODS_OF_A_WORKLOAD:,}",
        object=f"{obj.KIND} {api.key(obj)}",
    ).located(**place)


def latest_moment(objects: Iterable[api.Object]) -> float | None:
    """Return the latest creation or deletion time in a dump; None for manifests without times."""
    written = {obj.metadata.creation_timestamp for obj in objects} - {None}
    terminating = [obj.metadata for obj in objects if obj.metadata.deletion_timestamp is not None]
    moments = [timestamps.parse(text) for text in written if text]
    moments += [
        timestamps.parse(meta.deletion_timestamp) - (meta.deletion_grace_period_seconds or 0)
        for meta in terminating
        if meta.deletion_timestamp
    ]
    return max(moments, default=None)


def _flat(
    source: object, custom: Collection[type[api.Object]], object_check: ObjectCheck, skipped: Counter[str]
) -> Iterator[str | Given]:
    """Yield the paths and objects of nested sources in order. Objects of unknown kinds are counted
    in `skipped`."""
    if isinstance(source, (str, PathLike)):
        yield fspath(source)
    elif isinstance(source, api.Object):
        quantity_checks.check_quantities(source)
        yield Given(source)
    elif isinstance(source, dict) and _is_passed_over(source, custom):
        skipped[str(source["kind"])] += 1
    elif isinstance(source, dict):
        obj = codec.convert_object(source, custom)
        object_check.check_document(source, f"{obj.KIND} {api.key(obj)}")
        quantity_checks.check_quantities(obj)
        yield Given(obj, document=source if isinstance(obj, api.Pod) and not obj.spec.node_name else None)
    elif isinstance(source, Iterable):
        for item in source:
            yield from _flat(item, custom, object_check, skipped)
    else:
        raise InputError("is neither a path nor an API object", value=repr(source))


def _is_passed_over(source: dict[str, Any], custom: Collection[type[api.Object]]) -> bool:
    header = codec.convert(source, codec.Header)
    return bool(header.kind and header.api_version) and codec.class_for(header, custom) is None


def _in_order(given: list[Given]) -> list[Given]:
    order = in_creation_order([item.object for item in given])
    position = {id(obj): index for index, obj in enumerate(order)}
    return sorted(given, key=lambda item: (isinstance(item.object, api.Pod), position[id(item.object)]))
