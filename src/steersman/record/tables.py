# SPDX-License-Identifier: Apache-2.0
"""The decisions of a record as a table for other programs: a row per attempt, in the order in which they were made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from steersman.record.frames import BindingBody, DecisionBody, FrameKind
from steersman.record.reader import RecordReader
from steersman.record.recorded_run import body_of
from steersman.sim.frames import FrameTable, Row

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
