# SPDX-License-Identifier: Apache-2.0
"""Decisions beside those that were recorded: in what they differ, and the answer of a replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, TypeAlias

import msgspec

from steersman.build_info import steersman_version
from steersman.record.frames import DecisionBody, RunBody
from steersman.record.recorded_setup import file_digest

API_VERSION: Final = "steersman.dev/replay/v1"
OTHER_VERSION: Final = "the record is of Steersman {}, and this is {}"
_ROUNDED_DIGITS: Final = 14
"""Digests of fewer hexadecimal digits are below 2**52: floating-point numbers have all of them."""
CHANGED_FILE: Final = "{} is not what it was when the record was made"


class Differs(StrEnum):
    """In what a decision differs from the recorded one; the first that applies."""

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
    """A decision that is not what was recorded."""

    pod: str
    #: The number of the attempt at the pod, from 1, as far as the record goes back.
    attempt: int
    differs: Differs
    recorded: DecisionBody | None = None
    decided: DecisionBody | None = None


class Replay(msgspec.Struct, frozen=True, rename="camel"):
    """The comparison of a record with what is decided now."""

    #: How many decisions were recorded, and how many of them were the same.
    recorded: int
    same: int
    differences: tuple[DecisionDifference, ...]
    #: Seconds that the virtual clock shows at the start, as Unix time.
    start: float
    #: The time from which on the record is complete.
    since: float
    #: What the reader should know: one line each.
    notes: tuple[str, ...] = ()
    #: The command that was recorded.
    host: str = "simulate"
    #: How many of the recorded decisions could not be compared; `notes` say why.
    not_compared: int = 0
    #: Whether the scheduler went another way than the recorded one, in something that no decision shows.
    is_lost: bool = False

    @property
    def is_same(self) -> bool:
        return not self.differences and not self.is_lost

    def to_dict(self) -> dict[str, Any]:
        document: dict[str, Any] = msgspec.to_builtins(self)
        return {"apiVersion": API_VERSION, "kind": "Replay", "isSame": self.is_same, **document}


def compare(
    recorded: Sequence[DecisionBody], decided: Sequence[DecisionBody], fields: ComparedFields
) -> Iterator[DecisionDifference]:
    """The differences in these fields, those of recorded decisions first and in their order."""
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
    """The first of these fields in which two decisions differ; None if they are the same."""
    if now is None:
        return Differs.NOT_MADE
    for differs, fields in compared.items():
        if any(getattr(was, field) != getattr(now, field) for field in fields):
            return differs
    return None


def comparable(decision: DecisionBody, run: RunBody) -> DecisionBody:
    """The decision without a digest that the recorded version may have rounded."""
    is_exact = run.has_exact_digests or len(decision.digest) < _ROUNDED_DIGITS
    return decision if is_exact else msgspec.structs.replace(decision, digest="")


ComparedFields: TypeAlias = "Mapping[Differs, tuple[str, ...]]"

WHAT_IF: Final[ComparedFields] = {
    Differs.OUTCOME: ("outcome",),
    Differs.NODE: ("node",),
    Differs.PREEMPTION: ("nominated_node", "victims"),
}
"""With another configuration: scores and messages are others then, and it is the decisions that count."""
ALL_FIELDS: Final[ComparedFields] = {
    **WHAT_IF,
    Differs.MESSAGE: ("message", "rejected_by"),
    Differs.SCORES: ("total", "digest", "ties", "feasible_nodes"),
    Differs.TIME: ("at",),
    Differs.POD: ("pod", "uid", "profile", "attempt"),
}
"""Everything that is recorded of a decision."""


def version_notes(run: RunBody, plugin_files: Sequence[str]) -> Iterator[str]:
    """In what the scheduler of a replay is another one than the recorded, beside what was asked for. `plugin_files` are those
    that its plugins are from, the record's first."""
    if run.version != steersman_version():
        yield OTHER_VERSION.format(run.version, steersman_version())
    for known, file in zip(run.plugin_files, plugin_files, strict=False):
        if file_digest(file) != known.digest:
            yield CHANGED_FILE.format(file)
