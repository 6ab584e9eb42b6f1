# SPDX-License-Identifier: Apache-2.0
"""Items of a record: inputs of a scheduler or simulation (stimuli), and their results.

An item is a few elements ("parts") of a list that is encoded as one JSON array. The scheduling loop
appends to the list and encodes some hundred parts at once, while they are in the CPU cache.
`expansion` converts items to single frames. An item with a time as its second part is a stimulus:

    "CHANGED" or "DELETED", time, kind, key, object     an object was delivered; as the line of a watch in brackets: [line]
    "EXPECTED", time, kind, number                      a list arrived
    "tick", time, what, task                            the host ran an action on the scheduler
    "step", time, task, cause                           a coroutine continued
    "end", time, call, error or null                    a call that no task awaits has ended
    "given", time, {objects}                            objects for the simulation's next call
    "call", time, {method, arguments}                   a method of the simulation was called
    "at", time                                          the virtual clock of the simulation shows this time

Its results follow in order. Numbers are clock readings. `"decision"`, `"binding"` and `"answer"`
precede a body; an answer that is only a call number has no value. Most decisions and bindings are
compact: `"placed"`, profile, [pod, uid, node, …] and `"bound"`, pod, uid, node. `"all bound"`,
[uid, …] means that all pods placed by the stimulus are bound except these. `"told"`, call, change,
kind, key, object is an object delivered during a call that changed it synchronously.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, Final, NamedTuple
from zlib import crc32

import msgspec

from steersman import api
from steersman.api import codec
from steersman.record.frames import Frame, FrameKind, ObjectsBody, WatchedChange
from steersman.record.segments import name_hash

CHANGED: Final = WatchedChange.CHANGED
DELETED: Final = WatchedChange.DELETED
EXPECTED: Final = WatchedChange.EXPECTED
TICK: Final = "tick"
STEP: Final = "step"
END: Final = "end"
GIVEN: Final = "given"
CALL: Final = "call"
AT: Final = "at"
DECISION: Final = "decision"
BINDING: Final = "binding"
PLACED: Final = "placed"
BOUND: Final = "bound"
ALL_BOUND: Final = "all bound"
ANSWER: Final = "answer"
TOLD: Final = "told"

STIMULUS_LENGTHS: Final[dict[str, int]] = {
    CHANGED: 5,
    DELETED: 5,
    EXPECTED: 4,
    TICK: 4,
    STEP: 4,
    END: 4,
    GIVEN: 3,
    CALL: 3,
    AT: 2,
}
"""Number of parts of a stimulus, by its name."""
RESULT_LENGTHS: Final = {DECISION: 2, BINDING: 2, PLACED: 3, BOUND: 4, ALL_BOUND: 2, ANSWER: 2, TOLD: 6}
"""Number of parts of a result, by its name."""
FRAME_PARTS: Final = 2048
FRAME_BYTES: Final = 1 << 17
"""A frame is written after this many parts or bytes of text, while they are in the CPU cache."""
OBJECTS_PER_ITEM: Final = 256
_LARGE: Final = 1 << 20
"""Items of more than one object are split above this size."""
_POD_HASH: Final = name_hash("pod/")


class SegmentItem(NamedTuple):
    """Start of a new segment: its first frames, or objects to be encoded as such."""

    time: float
    frames: Iterable[Frame | api.Object]
    #: Whether frames before it are missing.
    is_after_gap: bool


class SimulationItem(NamedTuple):
    """A `"given"` or a `"call"` of a simulation."""

    parts: tuple[str, float, msgspec.Raw]
    #: Names under which the item is indexed.
    subjects: Sequence[str] = ()


@lru_cache(maxsize=256)
def kind_text(kind: type[api.Object]) -> str:
    """Return the name of a kind in records: `v1/Pod`, `apps/v1/ReplicaSet`."""
    return f"{kind.API_VERSION}/{kind.KIND}"


@lru_cache(maxsize=256)
def subject_prefix(kind: str) -> str:
    """Return the prefix of subjects of a kind: `pod/`."""
    return f"{kind.rpartition('/')[2].lower()}/"


def subject_of(obj: api.Object) -> str:
    """Return the name under which a record indexes the object."""
    return object_subject(obj.KIND, obj.NAMESPACED, obj.metadata.name, obj.metadata.namespace)


def object_subject(kind: str, is_namespaced: bool, name: str, namespace: str) -> str:
    return f"{kind.lower()}/{namespace or 'default'}/{name}" if is_namespaced else f"{kind.lower()}/{name}"


def object_frame(obj: api.Object, time: float) -> Frame:
    """Return the frame of an object in a snapshot."""
    return Frame(FrameKind.OBJECT, time, (subject_of(obj),), codec.encode(obj))


class NotedParts:
    """Buffer of parts to be written. The scheduling loop appends parts and updates `complete`. It
    takes full frames, the log's thread takes parts after a timeout, both under the log's lock."""

    __slots__ = ("complete", "nodes", "objects", "others", "parts", "pods", "taken", "text_bytes")

    def __init__(self) -> None:
        self.parts: list[Any] = []
        #: Number of parts of complete stimuli, and bytes of object texts.
        self.complete = self.text_bytes = 0
        #: Subjects of the stimuli: keys of pods, names of nodes, and other subjects with kinds.
        self.pods: set[str] = set()
        self.nodes: set[str] = set()
        self.others: set[str] = set()
        #: Indexes of parts that are unencoded objects.
        self.objects: deque[int] = deque()
        #: Number of parts already taken.
        self.taken = 0

    @property
    def fills_frame(self) -> bool:
        return self.complete > FRAME_PARTS or self.text_bytes > FRAME_BYTES

    def add(self, item: SimulationItem) -> None:
        """Append an item of a simulation as a complete stimulus."""
        self.parts += item.parts
        self.others.update(item.subjects)
        self.text_bytes += memoryview(item.parts[2]).nbytes
        self.complete = len(self.parts)

    def frame(self) -> Frame | None:
        """Return the stimuli completed since the last call as one frame, or None."""
        taken, complete = self.taken, self.complete
        if taken == complete:
            return None
        self.taken = complete
        parts = self.parts[taken:complete]
        while self.objects and self.objects[0] < complete:
            at = self.objects.popleft() - taken
            parts[at] = msgspec.Raw(codec.encode(parts[at]))
        last = next(at for at in reversed(range(len(parts) - 1)) if _begins_stimulus(parts, at))
        body = msgspec.json.encode(parts)
        return Frame(FrameKind.STIMULI, parts[1], (), body, name_hashes=self._name_hashes(), until=parts[last + 1])

    def _name_hashes(self) -> set[int]:
        """Return hashes of all subjects, also of frames taken earlier, for the block's index."""
        # Copies are atomic: the scheduling loop may be adding names of an incomplete stimulus. They
        # stay in the sets, because they also belong to the next frame.
        found = {crc32(key.encode(errors="replace"), _POD_HASH) for key in self.pods.copy()}
        found.update([_node_hash(name) for name in self.nodes.copy()])
        found.update(map(name_hash, self.others.copy()))
        return found


def _begins_stimulus(parts: list[Any], at: int) -> bool:
    """Return whether the part is the name of a stimulus (a time follows) and not an equal text."""
    part = parts[at]
    return isinstance(part, str) and part in STIMULUS_LENGTHS and parts[at + 1].__class__ is float


@lru_cache(maxsize=1 << 14)
def _node_hash(name: str) -> int:
    return name_hash(f"node/{name}")


# -- simulations -------------------------------------------------------------------------------------------------------


def given_items(objects: Iterable[api.Object], time: float, *, has_history: bool = True) -> Iterator[SimulationItem]:
    """Yield items with the objects in order, many objects per item. `has_history` says whether the
    objects' history includes this."""
    for kind, group in groupby(objects, type):
        alike = list(group)
        for begin in range(0, len(alike), OBJECTS_PER_ITEM):
            yield from _given_items(kind, alike[begin : begin + OBJECTS_PER_ITEM], time, has_history)


def _given_items(
    kind: type[api.Object], objects: Sequence[api.Object], time: float, has_history: bool
) -> Iterator[SimulationItem]:
    body = msgspec.json.encode(
        ObjectsBody(kind.API_VERSION, kind.KIND, kind.NAMESPACED, list(objects), has_history=has_history)
    )
    if len(body) > _LARGE and len(objects) > 1:
        middle = len(objects) // 2
        yield from _given_items(kind, objects[:middle], time, has_history)
        yield from _given_items(kind, objects[middle:], time, has_history)
        return
    subjects = [subject_of(obj) for obj in objects] if has_history else []
    yield SimulationItem((GIVEN, time, msgspec.Raw(body)), subjects)


def item_frames(items: Iterable[SimulationItem]) -> Iterator[Frame]:
    """Yield frames with the items, of about the size that a recorder writes."""
    noted = NotedParts()
    for item in items:
        noted.add(item)
        if noted.fills_frame:
            yield from filter(None, [noted.frame()])
            noted = NotedParts()
    yield from filter(None, [noted.frame()])
