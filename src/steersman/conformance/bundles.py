# SPDX-License-Identifier: Apache-2.0
"""Golden bundles: files with one JSON document per line, of one of three kinds, run and compared line by line.

`steersman conformance` is a thin layer over `run_bundle`; what happens to a line is the business of `scenarios` and `compare`,
`queue_traces` and `config_documents`. The kind is found by content, not by name.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import msgspec

from steersman.conformance.compare import compare
from steersman.conformance.config_documents import run_document
from steersman.conformance.difference import GoldenDifference
from steersman.conformance.queue_traces import run_trace
from steersman.conformance.scenarios import run_scenario
from steersman.errors import InputError

Document = dict[str, Any]
#: Where in a case, and what.
Located = tuple[str, GoldenDifference]

NOT_A_BUNDLE: Final = "is not a golden bundle"
WHAT_BUNDLES_ARE: Final = (
    "a bundle has one JSON document per line: scheduling scenarios, queue traces or configurations"
)
RAISED: Final = "raised"
_GZIP: Final = b"\x1f\x8b"


class Kind(StrEnum):
    """The kind of a line."""

    SCENARIO = "scenario"
    QUEUE_TRACE = "queue trace"
    CONFIG_DOCUMENT = "config document"


#: The keys that a line of each kind has.
_KEYS: Final = {
    Kind.SCENARIO: {"name", "objects", "pods", "expected"},
    Kind.QUEUE_TRACE: {"id", "config", "ops", "metrics"},
    Kind.CONFIG_DOCUMENT: {"id", "yaml", "result"},
}


class Case(msgspec.Struct, frozen=True):
    """One line, run. `checks` counts its scheduling cycles or operations, each of which may differ."""

    name: str
    area: str
    checks: int
    differences: tuple[Located, ...]

    @property
    def agrees(self) -> bool:
        return not self.differences


def run_bundle(path: str, *, scalar: bool = False, areas: Iterable[str] = ()) -> Iterator[Case]:
    """Every case of the file, or those of some areas. Raises `InputError` for a file that is no bundle."""
    wanted = frozenset(areas)
    for number, document in enumerate(_lines(path), start=1):
        kind = kind_of(document)
        if kind is None or not isinstance(document, dict):
            raise InputError(NOT_A_BUNDLE, file=path, line=number, hint=WHAT_BUNDLES_ARE)
        if not wanted or area_of(kind, document) in wanted:
            yield run_case(kind, document, scalar=scalar)


def run_case(kind: Kind, document: Document, *, scalar: bool = False) -> Case:
    """One line; an exception counts as a difference."""
    name, checks = _name_and_checks(kind, document)
    try:
        differences = tuple(_RUNNERS[kind](document, scalar))
    except Exception as error:  # a case that breaks the scheduler is the worst difference there is
        differences = (("", GoldenDifference(RAISED, "a result", f"{type(error).__name__}: {error}")),)
    return Case(name, area_of(kind, document), checks, differences)


def kind_of(document: object) -> Kind | None:
    if isinstance(document, dict):
        for kind, keys in _KEYS.items():
            if keys <= document.keys():
                return kind
    return None


def area_of(kind: Kind, document: Document) -> str:
    if kind is Kind.SCENARIO:
        return str(document.get("area", "scenarios"))
    return "queue" if kind is Kind.QUEUE_TRACE else "config"


def _name_and_checks(kind: Kind, document: Document) -> tuple[str, int]:
    if kind is Kind.SCENARIO:
        return document["name"], len(document["expected"])
    return document["id"], len(document["ops"]) if kind is Kind.QUEUE_TRACE else 1


def _scenario(document: Document, scalar: bool) -> Iterator[Located]:
    results = run_scenario(document, scalar=scalar)
    for expected, actual in zip(document["expected"], results, strict=True):
        for difference in compare(expected, actual):
            yield f"pod {expected['pod']}", difference


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
    """The documents of a file, compressed or not."""
    try:
        data = Path(path).read_bytes()
        if data.startswith(_GZIP):
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"cannot be read: {reason}", file=path) from error
    lines = [(number, line) for number, line in enumerate(data.splitlines(), start=1) if line.strip()]
    if not lines:
        raise InputError(NOT_A_BUNDLE, file=path, hint=WHAT_BUNDLES_ARE)
    for number, line in lines:
        try:
            yield msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(NOT_A_BUNDLE, file=path, line=number, hint=WHAT_BUNDLES_ARE) from error
