# SPDX-License-Identifier: Apache-2.0
"""The history of a pod or node in a record, and the table of all decisions for other programs: a
row per attempt, both in chronological order."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from steersman.base import HISTORY_VERSION, InputError
from steersman.record.frames import BindingBody, DecisionBody, Frame, FrameKind, WatchedChange, WatchEventBody
from steersman.record.reader import Problem, RecordReader, snapshot_of
from steersman.record.recorded_run import body_of, first_run
from steersman.scheduler.diagnosis import Outcome
from steersman.simulation import FrameTable, Row

ADDED: Final = "added"
DELETED: Final = "deleted"
FOUND: Final = "found"
AFTER_GAP: Final = "the record continues here after a gap; what was before is missing"


class HistoryEntry(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Something that happened to a pod or on a node."""

    #: Seconds since the start of the record.
    at: float
    #: Key of the pod.
    pod: str
    #: One or a few words: scheduled, unschedulable, error, bound, not bound, preempted, nominated,
    #: added, deleted, found (after a gap).
    event: str
    node: str = ""
    #: Number of the attempt; 0 for events other than attempts.
    attempt: int = 0
    message: str = ""
    #: The plugins that rejected the pod in a failed attempt.
    rejected_by: tuple[str, ...] = ()


class History(msgspec.Struct, frozen=True, rename="camel"):
    #: `pod/default/web-0` or `node/n1`.
    subject: str
    #: Seconds after the start since which the record is complete.
    since: float
    entries: tuple[HistoryEntry, ...]
    problems: tuple[Problem, ...] = ()
    #: The recorded command, and the Unix time of its start.
    host: str = "simulate"
    start: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        document: dict[str, Any] = msgspec.to_builtins(self)
        return {"apiVersion": HISTORY_VERSION, "kind": "History", **document}


def history(
    directory: str | os.PathLike[str], name: str, *, since: float | None = None, until: float | None = None
) -> History:
    """Return the history of a pod (`default/web-0`, `web-0`, `pod/default/web-0`) or node (`n1`,
    `node/n1`). `since` and `until` count from the start. Raises `InputError`, also if not found."""
    reader = RecordReader(directory)
    run, complete_since = first_run(reader)
    start = run.start
    first = -math.inf if since is None else start + since
    last = math.inf if until is None else start + until
    for subject in _subjects(name):
        found = reader.frames(subject, first, last, after_gaps=True)
        entries = tuple(_first_of_objects(_all_entries(found, subject, reader, start)))
        if entries:
            since_start = round(complete_since - start, 6)
            return History(subject, since_start, entries, tuple(reader.problems), run.host, start)
    raise InputError("it is not in the record", file=str(directory), object=name, hint=_HINT)


_HINT: Final = 'write "pod/default/web-0" or "node/n1"'


def _subjects(name: str) -> list[str]:
    """Return the subjects that the name may refer to."""
    kind, _, rest = name.partition("/")
    if kind in ("pod", "pods", "po") and rest:
        return [f"pod/{rest if '/' in rest else f'default/{rest}'}"]
    if kind in ("node", "nodes", "no") and rest:
        return [f"node/{rest}"]
    return [f"pod/{name}"] if "/" in name else [f"pod/default/{name}", f"node/{name}"]


def _first_of_objects(entries: Iterable[HistoryEntry]) -> Iterator[HistoryEntry]:
    """Yield the entries, but only the first "added" event until the object is deleted."""
    is_there = False
    for entry in entries:
        if entry.event != ADDED or not is_there:
            yield entry
        if entry.event in (ADDED, DELETED, FOUND):
            is_there = entry.event != DELETED


def _all_entries(frames: Iterable[Frame], subject: str, reader: RecordReader, start: float) -> Iterator[HistoryEntry]:
    snapshot_end = -1
    for frame in frames:
        if frame.kind == FrameKind.SNAPSHOT:
            snapshot = snapshot_of(frame, reader.directory)
            snapshot_end = frame.number + snapshot.frames if snapshot.gap else -1
        elif frame.number <= snapshot_end and frame.kind == FrameKind.OBJECT:
            yield _found(frame, subject, reader, start)
        else:
            yield from _entries(frame, subject, reader, start)


def _found(frame: Frame, subject: str, reader: RecordReader, start: float) -> HistoryEntry:
    """Return the entry of an object in the snapshot after a gap."""
    node = _node(subject) or body_of(frame, _Served, reader.directory).spec.node_name
    return HistoryEntry(round(frame.time - start, 6), _pod(subject), FOUND, node=node, message=AFTER_GAP)


class _ServedSpec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Served(msgspec.Struct):
    spec: _ServedSpec = msgspec.field(default_factory=_ServedSpec)


def _entries(frame: Frame, subject: str, reader: RecordReader, start: float) -> Iterator[HistoryEntry]:
    at = round(frame.time - start, 6)
    if frame.kind == FrameKind.OBJECT:
        yield HistoryEntry(at, _pod(subject), ADDED, node=_node(subject))
    elif frame.kind in (FrameKind.WATCH_EVENT, FrameKind.NESTED_WATCH_EVENT):
        is_deleted = body_of(frame, WatchEventBody, reader.directory).type is WatchedChange.DELETED
        yield HistoryEntry(at, _pod(subject), DELETED if is_deleted else ADDED, node=_node(subject))
    elif frame.kind == FrameKind.BINDING:
        binding = body_of(frame, BindingBody, reader.directory)
        event = "not bound" if binding.message else "bound"
        yield HistoryEntry(at, binding.pod, event, node=binding.node, message=binding.message)
    elif frame.kind == FrameKind.DECISION:
        yield from _decision_entries(body_of(frame, DecisionBody, reader.directory), subject, at)


def _decision_entries(decision: DecisionBody, subject: str, at: float) -> Iterator[HistoryEntry]:
    if subject in (f"pod/{decision.pod}", f"node/{decision.node}"):
        message = decision.message or _reason(decision)
        yield HistoryEntry(
            at, decision.pod, decision.outcome, decision.node, decision.attempt, message, tuple(decision.rejected_by)
        )
    if subject in (f"pod/{decision.pod}", f"node/{decision.nominated_node}") and decision.nominated_node:
        victims = f"in place of {', '.join(decision.victims)}" if decision.victims else ""
        yield HistoryEntry(at, decision.pod, "nominated", decision.nominated_node, message=victims)
    for victim in decision.victims:
        if subject in (f"pod/{victim}", f"node/{decision.nominated_node}"):
            yield HistoryEntry(at, victim, "preempted", decision.nominated_node, message=f"for {decision.pod}")


def _reason(decision: DecisionBody) -> str:
    """Return the reason for the choice of the node; "" for an unscheduled pod."""
    if decision.outcome is not Outcome.SCHEDULED:
        return ""
    if decision.total is None:
        return "the only node that fits"
    among = f", as {decision.ties - 1} more have" if decision.ties > 1 else ""
    return f"best of {decision.feasible_nodes} nodes with {decision.total}{among}"


def _pod(subject: str) -> str:
    return subject.removeprefix("pod/") if subject.startswith("pod/") else ""


def _node(subject: str) -> str:
    return subject.removeprefix("node/") if subject.startswith("node/") else ""


# -- all decisions, for other programs -------------------------------------------------------------------------------------

COLUMNS: Final = {
    "time": float,
    "pod": str,
    "uid": str,
    "profile": str,
    "attempt": int,
    "outcome": str,
    "node": str,
    "total": float,
    "feasible_nodes": int,
    "ties": int,
    "message": str,
    "rejected_by": str,
    "nominated_node": str,
    "victims": str,
    "bound_at": float,
    "binding_failed": str,
    "digest": str,
}
"""Times are Unix times; `bound_at` is the time of the binding, `binding_failed` the reason for its
failure; multiple names are separated by commas; values that do not apply are empty."""


def decision_table(directory: str | os.PathLike[str]) -> FrameTable:
    """Return all decisions of a record with their bindings. Raises `InputError`."""
    reader = RecordReader(directory)
    decisions: list[DecisionBody] = []
    #: Decision index → time at which its binding ended, reason for its failure.
    bindings: dict[int, tuple[float, str]] = {}
    latest: dict[str, int] = {}
    for frame in reader.frames():
        if frame.kind == FrameKind.DECISION:
            decision = body_of(frame, DecisionBody, reader.directory)
            latest[decision.uid] = len(decisions)
            decisions.append(decision)
        elif frame.kind == FrameKind.BINDING:
            binding = body_of(frame, BindingBody, reader.directory)
            if binding.uid in latest:
                bindings[latest[binding.uid]] = frame.time, binding.message
    return FrameTable(COLUMNS, _rows(decisions, bindings))


def _rows(decisions: list[DecisionBody], bindings: dict[int, tuple[float, str]]) -> Iterator[Row]:
    for number, one in enumerate(decisions):
        ended, failure = bindings.get(number, (None, ""))
        yield (
            one.at,
            one.pod,
            one.uid,
            one.profile,
            one.attempt,
            str(one.outcome),
            one.node or None,
            None if one.total is None else float(one.total),
            one.feasible_nodes,
            one.ties,
            one.message or None,
            ",".join(one.rejected_by) or None,
            one.nominated_node or None,
            ",".join(one.victims) or None,
            None if failure else ended,
            failure or None,
            one.digest or None,
        )
