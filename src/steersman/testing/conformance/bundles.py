# SPDX-License-Identifier: Apache-2.0
"""Golden bundles: files with a JSON document per line, of one of four kinds, run line by line.

`steersman conformance` calls `run_bundle`, which uses `scenarios` and `compare`, `group_replay` and
`group_levels`, `queue_traces` or `config_documents`. The kind is detected from the content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import msgspec

from steersman.api import decompressed
from steersman.base import InputError
from steersman.testing.conformance.compare import compare
from steersman.testing.conformance.config_documents import run_document
from steersman.testing.conformance.difference import GoldenDifference
from steersman.testing.conformance.group_levels import LEVELS, agreed_level, located_differences
from steersman.testing.conformance.group_replay import run_group_scenario
from steersman.testing.conformance.queue_traces import run_trace
from steersman.testing.conformance.scenarios import run_scenario
from steersman.testing.conformance.setting import UNNAMED_VERSION

Document = dict[str, Any]
#: Place in a case, and the difference there.
Located = tuple[str, GoldenDifference]

NOT_A_BUNDLE: Final = "is not a golden bundle"
WHAT_BUNDLES_ARE: Final = (
    "a bundle has one JSON document per line: scheduling scenarios, queue traces or configurations"
)
RAISED: Final = "raised"


class Kind(StrEnum):
    """Kind of a line."""

    SCENARIO = "scenario"
    GROUP_SCENARIO = "scenario with pod groups"
    QUEUE_TRACE = "queue trace"
    CONFIG_DOCUMENT = "config document"


_SCENARIOS: Final = (Kind.SCENARIO, Kind.GROUP_SCENARIO)
#: Required keys of a line of each kind.
_KEYS: Final = {
    Kind.SCENARIO: {"name", "objects", "pods", "expected"},
    Kind.QUEUE_TRACE: {"id", "config", "ops", "metrics"},
    Kind.CONFIG_DOCUMENT: {"id", "yaml", "result"},
}


class Case(msgspec.Struct, frozen=True):
    """Result of one line. `checks` is its number of scheduling cycles or operations."""

    name: str
    area: str
    checks: int
    differences: tuple[Located, ...]
    #: Highest level of agreement; None for kinds without levels.
    level: int | None = None

    @property
    def agrees(self) -> bool:
        return not self.differences


def run_bundle(
    path: str, *, scalar: bool = False, areas: Iterable[str] = (), version: str = UNNAMED_VERSION
) -> Iterator[Case]:
    """Yield every case of the file, or of some areas. `version` applies to lines that name no
    version.

    Raise `InputError` for a file that is not a bundle.
    """
    wanted = frozenset(areas)
    for number, document in enumerate(_lines(path), start=1):
        kind = kind_of(document)
        if kind is None or not isinstance(document, dict):
            raise InputError(NOT_A_BUNDLE, file=path, line=number, hint=WHAT_BUNDLES_ARE)
        document.setdefault("version", version)
        if not wanted or area_of(kind, document) in wanted:
            yield run_case(kind, document, scalar=scalar)


def run_case(kind: Kind, document: Document, *, scalar: bool = False) -> Case:
    """Run one line; an exception counts as a difference."""
    name, checks = _name_and_checks(kind, document)
    has_levels = kind is Kind.GROUP_SCENARIO
    try:
        level, differences = (
            _group_scenario(document, scalar) if has_levels else (None, _RUNNERS[kind](document, scalar))
        )
        found = tuple(differences)
    except Exception as error:  # a crash is the worst difference
        level = 0 if has_levels else None
        found = (("", GoldenDifference(RAISED, "a result", f"{type(error).__name__}: {error}")),)
    return Case(name, area_of(kind, document), checks, found, level)


def kind_of(document: object) -> Kind | None:
    if isinstance(document, dict):
        for kind, keys in _KEYS.items():
            if keys <= document.keys():
                has_groups = kind is Kind.SCENARIO and isinstance(document["expected"], dict)
                return Kind.GROUP_SCENARIO if has_groups else kind
    return None


def area_of(kind: Kind, document: Document) -> str:
    if kind in _SCENARIOS:
        return str(document.get("area", "scenarios"))
    return "queue" if kind is Kind.QUEUE_TRACE else "config"


def _name_and_checks(kind: Kind, document: Document) -> tuple[str, int]:
    if kind is Kind.SCENARIO:
        return document["name"], len(document["expected"])
    if kind is Kind.GROUP_SCENARIO:
        return document["name"], len(document["expected"]["cycles"])
    return document["id"], len(document["ops"]) if kind is Kind.QUEUE_TRACE else 1


def _scenario(document: Document, scalar: bool) -> Iterator[Located]:
    results = run_scenario(document, scalar=scalar)
    for expected, actual in zip(document["expected"], results, strict=True):
        for difference in compare(expected, actual):
            yield f"pod {expected['pod']}", difference


def _group_scenario(document: Document, scalar: bool) -> tuple[int, Iterator[Located]]:
    """Return the highest level of agreement, and the differences at the strictest one."""
    expected, actual = document["expected"], run_group_scenario(document, scalar=scalar)
    level = agreed_level(expected, actual)
    return level, iter(()) if level == LEVELS[-1] else located_differences(expected, actual)


def _queue_trace(document: Document, _: bool) -> Iterator[Located]:
    return (("", difference) for difference in run_trace(document))


def _config_document(document: Document, _: bool) -> Iterator[Located]:
    return (("", difference) for difference in run_document(document))


_RUNNERS: Final[dict[Kind, Callable[[Document, bool], Iterator[Located]]]] = {
    Kind.SCENARIO: _scenario,
    Kind.QUEUE_TRACE: _queue_trace,
    Kind.CONFIG_DOCUMENT: _config_document,
}


def _lines(path: str) -> Iterator[object]:
    """Yield the documents of a file, which may be compressed."""
    try:
        data = decompressed(Path(path).read_bytes(), path)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from error
    lines = [(number, line) for number, line in enumerate(data.splitlines(), start=1) if line.strip()]
    if not lines:
        raise InputError(NOT_A_BUNDLE, file=path, hint=WHAT_BUNDLES_ARE)
    for number, line in lines:
        try:
            yield msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(NOT_A_BUNDLE, file=path, line=number, hint=WHAT_BUNDLES_ARE) from error
