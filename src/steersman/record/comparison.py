# SPDX-License-Identifier: Apache-2.0
"""Comparison of decisions with recorded ones, and the result of a replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, TypeAlias

import msgspec

from steersman.base import REPLAY_VERSION, steersman_version
from steersman.record.frames import DecisionBody, RunBody
from steersman.record.recorded_run import file_digest

OTHER_VERSION: Final = "the record is of Steersman {}, and this is {}"
_ROUNDED_DIGITS: Final = 14
"""Digests with fewer hexadecimal digits are below 2**52, which floats represent exactly."""
CHANGED_FILE: Final = "{} is not what it was when the record was made"


class Differs(StrEnum):
    """The first aspect in which a decision differs from the recorded one."""

    NOT_MADE = "not made"
    NOT_RECORDED = "not recorded"
    OUTCOME = "outcome"
    NODE = "node"
    PREEMPTION = "preemption"
    MESSAGE = "message"
    SCORES = "scores"
    TIME = "time"
    POD = "pod"
    ORDER = "order"


class DecisionDifference(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A decision that differs from the recorded one."""

    pod: str
    #: Number of the pod's scheduling attempt, counted from 1 at the start of the record.
    attempt: int
    differs: Differs
    recorded: DecisionBody | None = None
    decided: DecisionBody | None = None


class Replay(msgspec.Struct, frozen=True, rename="camel"):
    """Result of comparing a record with the decisions of a replay."""

    #: Number of recorded decisions, and of those that the replay repeated.
    recorded: int
    same: int
    differences: tuple[DecisionDifference, ...]
    #: Unix time at the start of the record.
    start: float
    #: Time since which the record is complete.
    since: float
    #: Remarks for the user, one line each.
    notes: tuple[str, ...] = ()
    #: The command that was recorded.
    host: str = "simulate"
    #: Number of recorded decisions that could not be compared; `notes` has the reasons.
    not_compared: int = 0
    #: Whether the replay diverged from the record in something other than a decision.
    is_lost: bool = False

    @property
    def is_same(self) -> bool:
        return not self.differences and not self.is_lost

    def to_dict(self) -> dict[str, Any]:
        document: dict[str, Any] = msgspec.to_builtins(self)
        return {"apiVersion": REPLAY_VERSION, "kind": "Replay", "isSame": self.is_same, **document}


def compare(
    recorded: Sequence[DecisionBody], decided: Sequence[DecisionBody], fields: ComparedFields
) -> Iterator[DecisionDifference]:
    """Yield the differences in these fields, those of recorded decisions first, in their order."""
    before, now = _by_attempt(recorded), _by_attempt(decided)
    found = False
    for key, was in before.items():
        differs = difference(was, now.get(key), fields)
        if differs is not None:
            found = True
            yield DecisionDifference(*key, differs, was, now.get(key))
    for key, made in now.items():
        if key not in before:
            found = True
            yield DecisionDifference(*key, Differs.NOT_RECORDED, None, made)
    if not found and fields is ALL_FIELDS:
        for was_key, is_key in zip(before, now, strict=True):
            if was_key != is_key:
                yield DecisionDifference(*was_key, Differs.ORDER, before[was_key], now[is_key])
                return


def _by_attempt(decisions: Iterable[DecisionBody]) -> dict[tuple[str, int], DecisionBody]:
    attempts = Counter[str]()
    found: dict[tuple[str, int], DecisionBody] = {}
    for decision in decisions:
        attempts[decision.pod] += 1
        found[decision.pod, attempts[decision.pod]] = decision
    return found


def difference(was: DecisionBody, now: DecisionBody | None, compared: ComparedFields) -> Differs | None:
    """Return the first of these aspects in which two decisions differ, or None."""
    if now is None:
        return Differs.NOT_MADE
    for differs, fields in compared.items():
        if any(getattr(was, field) != getattr(now, field) for field in fields):
            return differs
    return None


def comparable(decision: DecisionBody, run: RunBody) -> DecisionBody:
    """Return the decision without rounded digests and non-UUID UIDs of older versions."""
    is_exact = run.has_exact_digests or len(decision.digest) < _ROUNDED_DIGITS
    if not is_exact:
        decision = msgspec.structs.replace(decision, digest="")
    return decision if run.has_uuids else msgspec.structs.replace(decision, uid="")


ComparedFields: TypeAlias = "Mapping[Differs, tuple[str, ...]]"

WHAT_IF: Final[ComparedFields] = {
    Differs.OUTCOME: ("outcome",),
    Differs.NODE: ("node",),
    Differs.PREEMPTION: ("nominated_node", "victims"),
}
"""Fields to compare under another configuration, which changes scores and messages anyway."""
ALL_FIELDS: Final[ComparedFields] = {
    **WHAT_IF,
    Differs.MESSAGE: ("message", "rejected_by"),
    Differs.SCORES: ("total", "digest", "ties", "feasible_nodes"),
    Differs.TIME: ("at",),
    Differs.POD: ("pod", "uid", "profile", "attempt"),
}
"""All recorded fields of a decision."""


def version_notes(run: RunBody, plugin_files: Sequence[str]) -> Iterator[str]:
    """Yield a note for a different Steersman version and for each plugin file that changed since
    the recording. `plugin_files` are the files of the replay's plugins, the record's first."""
    if run.version != steersman_version():
        yield OTHER_VERSION.format(run.version, steersman_version())
    for known, file in zip(run.plugin_files, plugin_files, strict=False):
        if file_digest(file) != known.digest:
            yield CHANGED_FILE.format(file)
