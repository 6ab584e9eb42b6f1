# SPDX-License-Identifier: Apache-2.0
"""API objects that are given to a simulation, many in a frame: `steps` writes them, and the reader makes a frame of each again
(`expanded_objects`). A simulation is given thousands of objects at once, which the encoder takes in one call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final

import msgspec

from steersman import api
from steersman.api import codec
from steersman.record.frames import Frame, FrameError, FrameKind
from steersman.record.segments import name_hash

AT_ONCE: Final = 256
_LARGE: Final = 1 << 20
"""Frames are divided that have more bytes, and more than one object."""
MOST_COMMAS: Final = 1 << 22
"""A frame of objects has fewer, so that a reader's memory is bounded."""


class ObjectsBody(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Objects of one kind."""

    api_version: str
    kind: str
    is_namespaced: bool
    #: Without `apiVersion` and `kind`.
    items: list[Any]


class _ReadBody(ObjectsBody, frozen=True, rename="camel"):
    """Objects of one kind, which are not looked at yet."""

    items: list[msgspec.Raw]


class _Name(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class _Named(msgspec.Struct, frozen=True):
    """The name and namespace of an object in a record; its other fields are not decoded."""

    metadata: _Name = _Name()


def object_frames(objects: Iterable[api.Object], time: float) -> Iterator[Frame]:
    """The frames of some objects, in their order."""
    for kind, alike in groupby(objects, type):
        given = list(alike)
        for begin in range(0, len(given), AT_ONCE):
            yield from _frames(kind, given[begin : begin + AT_ONCE], time)


def _frames(kind: type[api.Object], objects: Sequence[api.Object], time: float) -> Iterator[Frame]:
    body = msgspec.json.encode(ObjectsBody(kind.API_VERSION, kind.KIND, kind.NAMESPACED, list(objects)))
    if len(body) > _LARGE and len(objects) > 1:
        middle = len(objects) // 2
        yield from _frames(kind, objects[:middle], time)
        yield from _frames(kind, objects[middle:], time)
        return
    metas = (obj.metadata for obj in objects)
    hashes = {name_hash(_subject(kind.KIND, kind.NAMESPACED, meta.name, meta.namespace)) for meta in metas}
    yield Frame(FrameKind.OBJECTS, time, (), body, name_hashes=hashes)


def subject_of(obj: api.Object) -> str:
    """The name by which an object is found in a record."""
    return _subject(obj.KIND, obj.NAMESPACED, obj.metadata.name, obj.metadata.namespace)


def _subject(kind: str, is_namespaced: bool, name: str, namespace: str) -> str:
    return f"{kind.lower()}/{namespace or 'default'}/{name}" if is_namespaced else f"{kind.lower()}/{name}"


def expanded_objects(frame: Frame) -> Iterator[Frame]:
    """A frame of each object. Raises `FrameError`."""
    if frame.body.count(b",") > MOST_COMMAS:
        raise FrameError("a frame has more objects than any writer puts into one")
    try:
        body = msgspec.json.decode(frame.body, type=_ReadBody)
        for item in body.items:
            name = msgspec.json.decode(item, type=_Named).metadata
            subject = _subject(body.kind, body.is_namespaced, name.name, name.namespace)
            text = codec.with_kind(body.api_version, body.kind, bytes(item))
            yield Frame(FrameKind.OBJECT, frame.time, (subject,), text, frame.number)
    except (ValueError, RecursionError) as error:  # msgspec's and Unicode's errors are ValueErrors
        raise FrameError(f"objects cannot be read: {error}") from error
