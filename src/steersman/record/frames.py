# SPDX-License-Identifier: Apache-2.0
"""The frames of a record; each is one input or one result of the scheduler.

`segments` packs frames into blocks on disk. A frame has a kind, a time, the names of its objects
(`pod/default/web-0`, `node/n1`) for lookup, and a JSON body. Recorders write `SNAPSHOT`, `RUN`,
`OBJECT`, `STIMULI` and `END`; the reader expands `STIMULI` to other kinds (`items`, `expansion`).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Iterable, Iterator
from enum import IntEnum, StrEnum
from typing import Annotated, Any, Final, NamedTuple, Self, TypeAlias

import msgspec

from steersman.kube.observe import DecisionRecord
from steersman.scheduler.assembly import HostAction, SavedScheduler
from steersman.scheduler.cycle import Scheduled
from steersman.scheduler.diagnosis import Outcome
from steersman.scheduler.engine import DigestedTotals

SIMULATED: Final = "simulate"
LIVE: Final = "run"
SANDBOX: Final = "sandbox"
"""Values of `RunBody.host`."""
FORMAT: Final = 5
"""Increased when the encoding of frames or blocks changes."""
READ_FORMATS: Final = (2, 3, 4, 5)
"""Formats 2 and 3 have frames instead of items for the calls of a simulation. Before format 5,
snapshots of live schedulers have no `STATE`."""
MAX_BODY_BYTES: Final = 64 << 20
MAX_SUBJECTS: Final = 255
FIRST_TIME, LAST_TIME = -62135596800.0, 253402300799.0
"""Bounds of frame times: the first and last second of the years 1 to 9999, as Unix time."""

_HEAD: Final = struct.Struct("<IBBd")
_NAME: Final = struct.Struct("<H")
_MAX_NAME_BYTES: Final = 0xFFFF


class FrameKind(IntEnum):
    """The kinds of frames."""

    SNAPSHOT = 1
    """Start of a segment; the next `SnapshotBody.frames` frames restore the state at this point."""
    RUN = 2
    """Setup of the scheduler: versions, seed, configuration, plugins."""
    OBJECT = 3
    """An API object in a snapshot, or one that the next step adds to a simulation."""
    STEP = 4
    """A call of a method of a simulation."""
    DECISION = 5
    """The end of a scheduling cycle."""
    BINDING = 6
    """The end of a binding cycle, successful or not."""
    END = 7
    """The record was closed properly."""
    PLACED = 8
    """Format 3: decisions and bindings of replicas that were scheduled together."""
    OBJECTS = 9
    """Format 3: objects of one kind that the next step adds to a simulation."""

    STATE = 10
    """State of a live scheduler in a snapshot besides objects: queue, bindings, random source."""

    STIMULI = 16
    """Many items (`items`): inputs of a scheduler or simulation, and their results."""

    WATCH_EVENT = 32
    """A watch event or list item as sent by the API server."""
    TICK = 33
    """An action that the host ran on the scheduler: an attempt, a flush of the queue."""
    ANSWER = 34
    """The result of an external call: a write, a plugin's read, an extender request."""
    TASK_STEP = 35
    """A step of a coroutine of the scheduler: a binding, a preemption."""
    NESTED_WATCH_EVENT = 36
    """A watched object delivered during an external call that changed it (only in a sandbox)."""
    CALL_END = 37
    """The end of a call that the scheduler started without awaiting it."""


class Frame(NamedTuple):
    """One frame on disk."""

    kind: int
    #: Unix time of the scheduler's clock, which is virtual in a simulation.
    time: float
    #: Objects that the frame concerns, as `kind/key`.
    subjects: tuple[str, ...]
    body: bytes
    #: Index of the frame in the record, from 0; set by the writer.
    number: int = -1
    #: Name hashes of the items, for the block's index, and time of the last item; not stored.
    name_hashes: Collection[int] = ()
    until: float = -math.inf


class FrameError(ValueError):
    """Bytes that cannot be decoded to frames, or a frame that cannot be written."""


def packed_head(frame: Frame) -> bytes:
    """Return the bytes of a frame up to its body. Raises `FrameError` if the frame is too large."""
    if len(frame.body) > MAX_BODY_BYTES:
        raise FrameError(f"a frame of {len(frame.body)} bytes is too large for a record")
    encoded_names = [name.encode(errors="replace")[:_MAX_NAME_BYTES] for name in frame.subjects[:MAX_SUBJECTS]]
    names = b"".join([_NAME.pack(len(name)) + name for name in encoded_names])
    return _HEAD.pack(len(names) + len(frame.body), frame.kind, len(encoded_names), frame.time) + names


def unpacked(data: bytes, first_number: int) -> Iterator[Frame]:
    """Yield the frames of a block. Raises `FrameError`."""
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
    """Base class of bodies: camelCase names; defaults are omitted, unknown fields ignored."""


class SnapshotBody(_Body, frozen=True):
    #: Number of following frames that belong to the snapshot.
    frames: Count
    #: Number of earlier decisions, which the frames of the snapshot reproduce in a replay.
    decisions: Count = 0
    #: Whether a process begins here. It may continue the record of an earlier one.
    begins: bool = False
    #: Reason why frames before the snapshot are missing.
    gap: str = ""
    format: int = FORMAT


class PluginFile(_Body, frozen=True):
    """A Python file with plugins. Its content is not recorded: nothing in a record is executed."""

    file: str
    #: BLAKE2b digest of its content.
    digest: str


class RunBody(_Body, frozen=True):
    """Setup of a scheduler."""

    #: The recorded command: `simulate`, `run` or `sandbox`.
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
    #: Enabled plugins by profile.
    plugins: dict[str, tuple[str, ...]] = {}
    #: A KubeletPolicy.
    kubelets: dict[str, Any] = {}
    controllers: bool = True
    #: Seconds after which an unschedulable pod is retried without an event.
    max_in_unschedulable: Annotated[float, msgspec.Meta(ge=0)] | None = None
    #: Whether pods are bound synchronously, or by calls that no task awaits
    #: (`ports.BindingBeginner`).
    binds_at_once: bool = False
    begins_bindings: bool = False
    #: Maximum number of such calls in flight. Versions that did not record it had sixteen.
    bindings_at_once: Count = 16
    #: Whether digests of totals are exact. Earlier versions summed floats, which round.
    has_exact_digests: bool = False
    #: Whether UIDs are UUIDs. In simulations of earlier versions the same pods have other UIDs.
    has_uuids: bool = False
    #: "1.36" or "1.37"; "" in records of versions that only emulated 1.36.
    emulated_version: str = ""
    #: Whether cycles that take too long are postponed.
    postpones: bool = True

    @property
    def is_live(self) -> bool:
        """Whether the record has stimuli instead of steps of a simulation."""
        return self.host != SIMULATED


class StateBody(_Body, frozen=True, kw_only=True):
    """State of a live scheduler between two stimuli."""

    scheduler: SavedScheduler
    #: Numbers of calls and coroutines so far.
    calls: Count
    tasks: Count
    #: Numbers of the calls that started the bindings in flight, in order.
    open_calls: tuple[Count, ...] = ()
    #: Number of the coroutine that awaits these bindings, or 0; whether it has made its first step.
    binding_task: Count = 0
    has_begun: bool = False


class StepBody(_Body, frozen=True):
    """One call of a method of `Simulation`."""

    method: str
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}
    #: Number of `OBJECT` frames before this one that belong to the call.
    objects: Count = 0
    #: For `_add`: number of objects of unknown kinds by kind, and notes about the input.
    skipped: dict[str, int] = {}
    notes: tuple[str, ...] = ()


class DecisionBody(DecisionRecord, frozen=True, gc=False):
    """The end of a scheduling cycle: the fields of `/debug/decisions`, and more for comparisons."""

    #: Number of scheduling attempts of the pod, including this one.
    attempt: int = 0
    #: Weighted total score of the chosen node; None without scoring (at most one feasible node).
    total: int | None = None
    #: Digest of the totals of all feasible nodes (`engine.totals_digest`); "" without scoring.
    digest: str = ""
    #: The node nominated by preemption, and the victims.
    nominated_node: str = ""
    victims: tuple[str, ...] = ()


class PlacedPod(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Compact decision of a scheduled pod: only the fields that differ between pods."""

    pod: str
    uid: str
    node: str
    ties: int
    feasible_nodes: int
    attempt: int
    total: int | None = None
    digest: str = ""

    @classmethod
    def from_decision(cls, decision: Scheduled, attempt: int, totals: DigestedTotals | None) -> Self:
        pod, choice = decision.pod, decision.choice
        if totals is None:
            return cls(pod.key, pod.uid, choice.node, choice.ties, decision.feasible_nodes, attempt)
        return cls(
            pod.key, pod.uid, choice.node, choice.ties, decision.feasible_nodes, attempt, totals.total, totals.digest
        )

    def decision(self, profile: str, at: float) -> DecisionBody:
        """Return the full decision."""
        node = (self.node, self.ties, self.feasible_nodes)
        scores = (self.attempt, self.total, self.digest)
        return DecisionBody(self.pod, self.uid, profile, Outcome.SCHEDULED, at, *node, "", (), *scores)


class PlacedBody(_Body, frozen=True):
    """Replicas scheduled together by one profile, in format 3."""

    profile: str
    at: float
    replicas: list[PlacedPod]
    #: UIDs of replicas that were not bound immediately; their bindings have separate frames.
    not_bound: list[str] = []


class ObjectsBody(_Body, frozen=True):
    """Objects of one kind that are passed to a simulation."""

    api_version: str
    kind: str
    is_namespaced: bool
    #: Without `apiVersion` and `kind`.
    items: list[Any]
    #: Whether the objects' history includes this.
    has_history: bool = True


class BindingBody(_Body, frozen=True, gc=False):
    """The end of a binding cycle."""

    pod: str
    uid: str
    node: str = ""
    #: Reason why the binding failed; "" for a bound pod.
    message: str = ""


class EndBody(_Body, frozen=True):
    decisions: int
    #: False if the simulation was changed in a way that was not recorded, so it cannot be replayed.
    is_complete: bool = True


class WatchedChange(StrEnum):
    """Changes of watched objects, as delivered to `ingest`."""

    CHANGED = "CHANGED"
    DELETED = "DELETED"
    EXPECTED = "EXPECTED"
    """Announcement of a list with this number of objects of the kind."""


class WatchEventBody(_Body, frozen=True):
    """An object from a watch or list, as delivered to the scheduler."""

    type: WatchedChange
    #: API version and kind: `apps/v1/ReplicaSet`.
    kind: str
    #: Readings of the scheduler's clock while it handled the event, in order.
    clock: tuple[float, ...] = ()
    #: The object's JSON, byte for byte; a number for `EXPECTED`.
    object: msgspec.Raw = msgspec.Raw(b"null")


class NestedWatchEventBody(WatchEventBody, frozen=True, kw_only=True):
    """An object that was delivered during an external call."""

    call: int


class TickBody(_Body, frozen=True):
    what: HostAction
    clock: tuple[float, ...] = ()
    #: Number of the coroutine of an attempt that may wait for extenders.
    task: int = 0


class StepCause(StrEnum):
    """Why a coroutine continues."""

    WOKEN = "woken"
    CANCELLED = "cancelled"
    CLOSED = "closed"


class TaskStepBody(_Body, frozen=True):
    #: Number of the coroutine, from 1 in the order of creation.
    task: int
    clock: tuple[float, ...] = ()
    cause: StepCause = StepCause.WOKEN


class RaisedError(_Body, frozen=True):
    """Exception raised by an external call."""

    name: str
    message: str
    #: Whether it is a `SteersmanError`, which is meant for users.
    is_for_users: bool = False
    #: For an extender's error: whether the request may have taken effect.
    may_have_acted: bool = False
    #: For a plugin's read error: the API server's HTTP status.
    code: int = 0


class CallEndBody(_Body, frozen=True):
    """The end of a call that no task awaits."""

    call: int
    clock: tuple[float, ...] = ()
    error: RaisedError | None = None


class AnswerBody(_Body, frozen=True):
    """The result of an external call; calls are numbered from 1 in the order of their start."""

    call: int
    #: JSON value; its type depends on the called method.
    value: msgspec.Raw = msgspec.Raw(b"null")
    error: RaisedError | None = None


def encoded(
    kind: FrameKind, time: float, body: msgspec.Struct, subjects: Iterable[str] = (), number: int = -1
) -> Frame:
    """Return a frame with this body encoded."""
    return Frame(kind, time, tuple(subjects), msgspec.json.encode(body), number)
