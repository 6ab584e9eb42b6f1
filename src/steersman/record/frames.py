# SPDX-License-Identifier: Apache-2.0
"""The frames of a record: one thing that the scheduler was told, or that it did, each.

`segments` packs frames into blocks on disk; `simulation_recorder` makes those of a simulation. A frame has a kind, a time, the
names of the objects it is about (`pod/default/web-0`, `node/n1`), by which it is found again, and a body in JSON. The kinds
from `WATCH_EVENT` on are read from `STIMULI`; docs/record.md says how these are replayed.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Iterable, Iterator
from enum import IntEnum, StrEnum
from typing import Annotated, Any, Final, NamedTuple, Self, TypeAlias

import msgspec

from steersman.assembly.stimuli import Stimulus
from steersman.cycle.decision import Scheduled
from steersman.engine.totals_digest import DigestedTotals
from steersman.explain import Outcome
from steersman.observe.decisions import DecisionRecord

SIMULATED: Final = "simulate"
LIVE: Final = "run"
SANDBOX: Final = "sandbox"
"""Hosts of schedulers, in a record."""
FORMAT: Final = 3
"""Grows when a frame or a block is read differently."""
READ_FORMATS: Final = (2, 3)
"""Of these, the first has no frames of replicas or of many objects."""
LONGEST_BODY: Final = 64 << 20
MOST_SUBJECTS: Final = 255
FIRST_TIME, LAST_TIME = -62135596800.0, 253402300799.0
"""The first and the last second of a calendar, years 1 to 9999, as Unix time: a frame has no other time."""

_HEAD: Final = struct.Struct("<IBBd")
_NAME: Final = struct.Struct("<H")
_LONGEST_NAME: Final = 0xFFFF


class FrameKind(IntEnum):
    """The kinds of frames, by what they tell."""

    SNAPSHOT = 1
    """Every segment begins with one: the frames after it, as many as it says, lead to where the record goes on."""
    RUN = 2
    """How the scheduler was made: versions, seed, configuration, plugins."""
    OBJECT = 3
    """An API object that the next step gives to a simulation."""
    STEP = 4
    """Something that was done to a simulation, in terms of its methods."""
    DECISION = 5
    """The end of a scheduling cycle."""
    BINDING = 6
    """The end of a binding cycle: the pod is bound, or that failed."""
    END = 7
    """The record was closed in good order."""
    PLACED = 8
    """Replicas that were placed together: decisions and bindings, many at once (`placed`)."""
    OBJECTS = 9
    """Objects of one kind that the next step gives to a simulation, many at once (`given_objects`)."""

    STIMULI = 16
    """Stimuli of a live cluster's scheduler, many at once, and what came of them (`live_items`)."""

    WATCH_EVENT = 32
    """A line of a watch or an item of a list, as the API server sent it."""
    TICK = 33
    """The host had the scheduler do something that is due: an attempt, a flush of the queue."""
    ANSWER = 34
    """The answer to a call of the scheduler to the outside: a write, a read of a plugin, a question to an extender."""
    TASK_STEP = 35
    """A coroutine of the scheduler went on: a binding, a preemption."""
    TOLD_MEANWHILE = 36
    """A watched object that was told in the middle of a call to the outside, which changed it at once: in a sandbox."""
    CALL_END = 37
    """A call that the scheduler has begun and does not wait for has ended."""


class Frame(NamedTuple):
    """One frame, as it was or will be written."""

    kind: int
    #: Unix time by the scheduler's clock, which is virtual in a simulation.
    time: float
    #: The objects that the frame is about, `kind/key` each.
    subjects: tuple[str, ...]
    body: bytes
    #: Counts all frames of a record from 0; given by the writer.
    number: int = -1
    #: Hashes of the names that a frame of many things is about, for the index of its block; and the time of the last of these
    #: things. Neither is in the frame itself.
    name_hashes: Collection[int] = ()
    until: float = -math.inf


class FrameError(ValueError):
    """Bytes that are no frames, or a frame that cannot be written."""


def packed_head(frame: Frame) -> bytes:
    """The bytes of a frame up to its body. Raises `FrameError` for one that is too large."""
    if len(frame.body) > LONGEST_BODY:
        raise FrameError(f"a frame of {len(frame.body)} bytes is too large for a record")
    encoded_names = [name.encode(errors="replace")[:_LONGEST_NAME] for name in frame.subjects[:MOST_SUBJECTS]]
    names = b"".join([_NAME.pack(len(name)) + name for name in encoded_names])
    return _HEAD.pack(len(names) + len(frame.body), frame.kind, len(encoded_names), frame.time) + names


def unpacked(data: bytes, first_number: int) -> Iterator[Frame]:
    """The frames of a block. Raises `FrameError`."""
    position, number = 0, first_number
    while position < len(data):
        if position + _HEAD.size > len(data):
            raise FrameError("ends within the head of a frame")
        length, kind, count, time = _HEAD.unpack_from(data, position)
        begin = position + _HEAD.size
        position = begin + length
        if position > len(data):
            raise FrameError("ends within a frame")
        yield _frame(data[begin:position], kind, time, count, number)
        number += 1


def _frame(content: bytes, kind: int, time: float, count: int, number: int) -> Frame:
    names, at = [], 0
    try:
        for _ in range(count):
            (length,) = _NAME.unpack_from(content, at)
            at += _NAME.size + length
            names.append(content[at - length : at].decode())
    except (struct.error, UnicodeDecodeError) as error:
        raise FrameError("the names of a frame cannot be read") from error
    if at > len(content):
        raise FrameError("ends within the names of a frame")
    if not FIRST_TIME <= time <= LAST_TIME:
        raise FrameError("a frame is of no time that a calendar has")
    return Frame(kind, time, tuple(names), content[at:], number)


# -- bodies ------------------------------------------------------------------------------------------------------------


Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Moment: TypeAlias = Annotated[float, msgspec.Meta(ge=FIRST_TIME, le=LAST_TIME)]


class _Body(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Base of the bodies: names as in Kubernetes' JSON, fields that say nothing left out, unknown ones passed over."""


class SnapshotBody(_Body, frozen=True):
    #: So many frames follow that belong to the snapshot.
    frames: Count
    #: So many decisions were made before; what leads here makes them again.
    decisions: Count = 0
    #: Nothing was before: a process begins here, which may go on with the record of an earlier one.
    begins: bool = False
    #: Why something before the snapshot is missing.
    gap: str = ""
    format: int = FORMAT


class PluginFile(_Body, frozen=True):
    """A Python file with plugins. Its content is not in the record: nothing of a record is ever executed."""

    file: str
    #: BLAKE2b of its content.
    digest: str


class RunBody(_Body, frozen=True):
    """How a scheduler was made."""

    #: The command that records: `simulate`, `run` or `sandbox`.
    host: str
    version: str
    kube_scheduler_version: str
    seed: int
    start: Moment
    #: A KubeSchedulerConfiguration, with all defaults, without extenders.
    configuration: dict[str, Any]
    #: Feature gates that differ from their defaults.
    gates: dict[str, bool] = {}
    plugin_files: tuple[PluginFile, ...] = ()
    #: The plugins that run, by profile.
    plugins: dict[str, tuple[str, ...]] = {}
    #: A KubeletPolicy.
    kubelets: dict[str, Any] = {}
    controllers: bool = True
    #: Seconds after which an unschedulable pod is tried again without a reason.
    max_in_unschedulable: Annotated[float, msgspec.Meta(ge=0)] | None = None
    #: Whether pods are bound without waiting; whether by calls that no task waits for (`framework.ports.BindingBeginner`); and
    #: whether cycles that take too long are postponed.
    binds_at_once: bool = False
    begins_bindings: bool = False
    #: How many such calls are under way at once. Records that do not say so are of versions that had sixteen.
    bindings_at_once: Count = 16
    #: Whether digests of totals are exact. Earlier versions summed up floating-point numbers, which round large ones.
    has_exact_digests: bool = False
    postpones: bool = True

    @property
    def is_live(self) -> bool:
        """Whether stimuli are recorded, and not steps of a simulation."""
        return self.host != SIMULATED


class StepBody(_Body, frozen=True):
    """One call of a method of `Simulation`."""

    method: str
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}
    #: So many `OBJECT` frames stand before it: the objects that are given.
    objects: Count = 0
    #: Of `_add`: objects of unknown kinds by kind, and notes about the input.
    skipped: dict[str, int] = {}
    notes: tuple[str, ...] = ()


class DecisionBody(DecisionRecord, frozen=True, gc=False):
    """The end of a scheduling cycle: what `/debug/decisions` shows, and what it takes to compare it with another one."""

    #: How often the pod has been tried, this time included.
    attempt: int = 0
    #: The weighted total of the chosen node; None: fewer than two nodes fitted, and nothing was scored.
    total: int | None = None
    #: Of the totals of all nodes that fitted (`engine.totals_digest`); "" where nothing was scored.
    digest: str = ""
    #: The node on which room is made for the pod, and the pods that have to go for it.
    nominated_node: str = ""
    victims: tuple[str, ...] = ()


class PlacedPod(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The decision on a pod that got a node, in short: what differs from one pod to the next."""

    pod: str
    uid: str
    node: str
    ties: int
    feasible_nodes: int
    attempt: int
    total: int | None = None
    digest: str = ""

    @classmethod
    def of(cls, decision: Scheduled, attempt: int, totals: DigestedTotals | None) -> Self:
        pod, choice = decision.pod, decision.choice
        if totals is None:
            return cls(pod.key, pod.uid, choice.node, choice.ties, decision.feasible_nodes, attempt)
        return cls(
            pod.key, pod.uid, choice.node, choice.ties, decision.feasible_nodes, attempt, totals.total, totals.digest
        )

    def decision(self, profile: str, at: float) -> DecisionBody:
        """The decision in full."""
        node = (self.node, self.ties, self.feasible_nodes)
        scores = (self.attempt, self.total, self.digest)
        return DecisionBody(self.pod, self.uid, profile, Outcome.SCHEDULED, at, *node, "", (), *scores)


class BindingBody(_Body, frozen=True, gc=False):
    """The end of a binding cycle."""

    pod: str
    uid: str
    node: str = ""
    #: Why the pod is not bound, if it is not.
    message: str = ""


class EndBody(_Body, frozen=True):
    decisions: int
    #: False: something was done to the simulation that is not in the record, so that it cannot be replayed.
    is_complete: bool = True


class WatchedChange(StrEnum):
    """Changes of watched objects, as `ingest` is told of them."""

    CHANGED = "CHANGED"
    DELETED = "DELETED"
    EXPECTED = "EXPECTED"
    """A list came with so many objects of the kind."""


class WatchEventBody(_Body, frozen=True):
    """An object of a watch or a list, as it was told to the scheduler."""

    type: WatchedChange
    #: API version and kind: `apps/v1/ReplicaSet`.
    kind: str
    #: Readings of the scheduler's clock while it dealt with this, in order.
    clock: tuple[float, ...] = ()
    #: The object's JSON to the byte; for `EXPECTED` a number.
    object: msgspec.Raw = msgspec.Raw(b"null")


class ToldBody(WatchEventBody, frozen=True, kw_only=True):
    """An object that was told in the middle of a call to the outside."""

    call: int


class TickBody(_Body, frozen=True):
    what: Stimulus
    clock: tuple[float, ...] = ()
    #: Of an attempt that may wait for extenders: the number of the coroutine that makes it.
    task: int = 0


class StepCause(StrEnum):
    """Why a coroutine goes on."""

    WOKEN = "woken"
    CANCELLED = "cancelled"
    CLOSED = "closed"


class TaskStepBody(_Body, frozen=True):
    #: Coroutines are counted from 1, in the order in which the scheduler makes them.
    task: int
    clock: tuple[float, ...] = ()
    cause: StepCause = StepCause.WOKEN


class RaisedError(_Body, frozen=True):
    """An exception instead of an answer."""

    name: str
    message: str
    #: Whether it is meant for users (`SteersmanError`).
    is_for_users: bool = False
    #: Of an extender's error: it may have done what it was asked for.
    may_have_acted: bool = False
    #: Of a reading plugin's error: the API server's HTTP status.
    code: int = 0


class CallEndBody(_Body, frozen=True):
    """How a call ended that no task waits for."""

    call: int
    clock: tuple[float, ...] = ()
    error: RaisedError | None = None


class AnswerBody(_Body, frozen=True):
    """The answer to a call to the outside; calls are counted from 1, in the order in which the scheduler makes them."""

    call: int
    #: Plain values and documents, depending on the method that was called.
    value: msgspec.Raw = msgspec.Raw(b"null")
    error: RaisedError | None = None


def encoded(
    kind: FrameKind, time: float, body: msgspec.Struct, subjects: Iterable[str] = (), number: int = -1
) -> Frame:
    """A frame with this body."""
    return Frame(kind, time, tuple(subjects), msgspec.json.encode(body), number)
