# SPDX-License-Identifier: Apache-2.0
"""The history of a pod or a node: everything that a record has about it, in the order of time. All decisions of a record are a
table for other programs: a row per attempt, in the order in which they were made."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from steersman.errors import InputError
from steersman.explain import Outcome
from steersman.record.frames import BindingBody, DecisionBody, Frame, FrameKind, RunBody, WatchedChange, WatchEventBody
from steersman.record.reader import Problem, RecordReader
from steersman.record.recorded_run import body_of, first_problem
from steersman.sim.frames import FrameTable, Row

API_VERSION: Final = "steersman.dev/history/v1"
ADDED: Final = "added"
DELETED: Final = "deleted"


class HistoryEntry(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Something that happened to a pod or on a node."""

    #: Seconds since the start of the record.
    at: float
    #: The pod that it is about.
    pod: str
    #: One or a few words: scheduled, unschedulable, error, bound, not bound, preempted, nominated, added, deleted.
    event: str
    node: str = ""
    #: Which attempt it was; 0 where it was none.
    attempt: int = 0
    message: str = ""
    #: Of an attempt in vain, the plugins that have rejected the pod.
    rejected_by: tuple[str, ...] = ()


class History(msgspec.Struct, frozen=True, rename="camel"):
    #: `pod/default/web-0` or `node/n1`.
    subject: str
    #: Seconds since the start from which on the record is complete.
    since: float
    entries: tuple[HistoryEntry, ...]
    problems: tuple[Problem, ...] = ()
    #: The command that was recorded, and the Unix time at which it began.
    host: str = "simulate"
    start: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        document: dict[str, Any] = msgspec.to_builtins(self)
        return {"apiVersion": API_VERSION, "kind": "History", **document}


def history(
    directory: str | os.PathLike[str], name: str, *, since: float | None = None, until: float | None = None
) -> History:
    """The history of a pod (`default/web-0`, `web-0`, `pod/default/web-0`) or of a node (`n1`, `node/n1`). Raises
    `InputError`, also if the record knows nothing of it. `since` and `until` are seconds after the start."""
    reader = RecordReader(directory)
    run, complete_since = _first_run(reader)
    start = run.start
    first = -math.inf if since is None else start + since
    last = math.inf if until is None else start + until
    for subject in _subjects(name):
        found = reader.frames(subject, first, last)
        entries = tuple(
            _first_of_objects(entry for frame in found for entry in _entries(frame, subject, reader, start))
        )
        if entries:
            since_start = round(complete_since - start, 6)
            return History(subject, since_start, entries, tuple(reader.problems), run.host, start)
    raise InputError("the record knows nothing of it", file=str(directory), object=name, hint=_HINT)


_HINT: Final = 'write "pod/default/web-0" or "node/n1"'


def _subjects(name: str) -> list[str]:
    """The objects that may be meant."""
    kind, _, rest = name.partition("/")
    if kind in ("pod", "pods", "po") and rest:
        return [f"pod/{rest if '/' in rest else f'default/{rest}'}"]
    if kind in ("node", "nodes", "no") and rest:
        return [f"node/{rest}"]
    return [f"pod/{name}"] if "/" in name else [f"pod/default/{name}", f"node/{name}"]


def _first_of_objects(entries: Iterable[HistoryEntry]) -> Iterator[HistoryEntry]:
    """Entries without repetitions: an object that is told again and again was added once, and again after it was deleted."""
    is_there = False
    for entry in entries:
        if entry.event != ADDED or not is_there:
            yield entry
        if entry.event in (ADDED, DELETED):
            is_there = entry.event == ADDED


def _first_run(reader: RecordReader) -> tuple[RunBody, float]:
    """How the first scheduler was made, and when the record begins."""
    since = 0.0
    for frame in reader.frames():
        if frame.kind == FrameKind.SNAPSHOT:
            since = frame.time
        elif frame.kind == FrameKind.RUN:
            return body_of(frame, RunBody, reader.directory), since
    raise InputError("does not say how it began", file=str(reader.directory), hint=first_problem(reader))


def _entries(frame: Frame, subject: str, reader: RecordReader, start: float) -> Iterator[HistoryEntry]:
    at = round(frame.time - start, 6)
    if frame.kind == FrameKind.OBJECT:
        yield HistoryEntry(at, _pod(subject), ADDED, node=_node(subject))
    elif frame.kind in (FrameKind.WATCH_EVENT, FrameKind.TOLD_MEANWHILE):
        is_deleted = body_of(frame, WatchEventBody, reader.directory).type is WatchedChange.DELETED
        yield HistoryEntry(at, _pod(subject), DELETED if is_deleted else ADDED, node=_node(subject))
    elif frame.kind == FrameKind.BINDING:
        binding = body_of(frame, BindingBody, reader.directory)
        event = "not bound" if binding.message else "bound"
        yield HistoryEntry(at, binding.pod, event, node=binding.node, message=binding.message)
    elif frame.kind == FrameKind.DECISION:
        yield from _of_decision(body_of(frame, DecisionBody, reader.directory), subject, at)


def _of_decision(decision: DecisionBody, subject: str, at: float) -> Iterator[HistoryEntry]:
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
    """Why a pod got its node."""
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
"""Times are Unix times; `bound_at` is when the binding was done, `binding_failed` why it was not; several names are parted by
commas; what does not apply is empty."""


def decision_table(directory: str | os.PathLike[str]) -> FrameTable:
    """Every decision of a record, with what came of it. Raises `InputError`."""
    reader = RecordReader(directory)
    decisions: list[DecisionBody] = []
    #: By the decision's number: when its binding ended, and why it failed.
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
