# SPDX-License-Identifier: Apache-2.0
"""Arrivals from a CSV file: times, run times, requests and other fields of a trace.

`arrivals` replays them, `generators` applies them to a template. Errors name the file and line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from steersman.api import quantity
from steersman.api.validation import dns1123_label, dns1123_subdomain, label_value, qualified_name
from steersman.base import InputError
from steersman.simulation.scenario.document import ColumnWithUnit, RecordedArrivals
from steersman.simulation.scenario.times import csv_rows, csv_seconds, seconds

AMOUNT_UNITS: Final = ("", *"numkMGTPE", *(f"{letter}i" for letter in "KMGTPE"))
MAX_BARE_CORES: Final = 1000
"""CPU amounts without a unit of at least this are probably millicores."""
MIN_BARE_BYTES: Final = 2**20
"""Memory amounts without a unit below this are probably in MiB or GiB."""
MAX_REPLICAS: Final = 100_000
_MEMORY: Final = ("memory", "ephemeral-storage")


class Arrival(NamedTuple):
    """The arrival of an object."""

    at: float
    #: Recorded requests by resource; None to use the template's.
    requests: dict[str, str] | None = None
    run_seconds: float | None = None
    namespace: str = ""
    labels: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    #: A number or the name of a PriorityClass; "" to use the template's.
    priority: str = ""
    #: None for a single pod, or the counts of a Job's template.
    replicas: int | None = None


def recorded_arrivals(document: RecordedArrivals, file: Path, path: str) -> list[Arrival]:
    """Return the arrivals of the file in chronological order. Raises `InputError`."""
    columns, units = dict[str, str](), dict[str, str | None]()
    for name in (*document.labels, *document.node_selector):
        if faults := qualified_name(name):
            raise InputError("is not a label name", field=path, value=name, hint=faults[0])
    for field, column in _columns(document):
        columns[field] = column if isinstance(column, str) else column.column
        units[field] = None if isinstance(column, str) else _checked_unit(column.unit, field, path)
    found = [_Row(file, line, row, units).arrival() for line, row in csv_rows(file, columns)]
    return sorted(found, key=lambda arrival: arrival.at)


def _columns(document: RecordedArrivals) -> Iterator[tuple[str, str | ColumnWithUnit]]:
    """Yield (field path, column) for all columns named in the document."""
    plain = {"time": document.time, "runTime": document.run_time, "namespace": document.namespace}
    yield from ((field, column) for field, column in plain.items() if column)
    yield from ((f"requests.{name}", column) for name, column in document.requests.items())
    yield from ((f"labels.{name}", column) for name, column in document.labels.items())
    yield from ((f"nodeSelector.{name}", column) for name, column in document.node_selector.items())
    yield from (
        (field, column)
        for field, column in (("priority", document.priority), ("replicas", document.replicas))
        if column
    )


def _checked_unit(unit: str, field: str, path: str) -> str:
    if field.startswith("requests."):
        if unit not in AMOUNT_UNITS:
            hint = f"use one of {', '.join(AMOUNT_UNITS[1:])}, or an empty one"
            raise InputError("is not a unit of an amount", field=f"{path}.{field}.unit", value=unit, hint=hint)
    else:
        seconds(f"1{unit}", f"{path}.{field}.unit")
    return unit


class _Row:
    """A line of the file: texts by field. Only times must not be empty."""

    def __init__(self, file: Path, line: int, texts: dict[str, str], units: dict[str, str | None]) -> None:
        self._file = file
        self._line = line
        self._texts = {field: text.strip() for field, text in texts.items()}
        self._units = units

    def arrival(self) -> Arrival:
        namespace = self._checked("namespace", dns1123_label)
        return Arrival(
            self._seconds("time"),
            {name: self._amount(name, text) for name, text in self._group("requests.", None)} or None,
            self._seconds("runTime") if "runTime" in self._texts else None,
            namespace,
            dict(self._group("labels.", label_value)),
            dict(self._group("nodeSelector.", label_value)),
            self._priority(),
            self._replicas(),
        )

    def _seconds(self, field: str) -> float:
        return csv_seconds(self._file, self._line, self._texts[field] + (self._units[field] or ""))

    def _group(self, prefix: str, check: Callable[[str], list[str]] | None) -> Iterator[tuple[str, str]]:
        """Yield name and text of the nonempty fields with this prefix."""
        for field, text in self._texts.items():
            if text and field.startswith(prefix):
                yield field.removeprefix(prefix), text if check is None else self._checked(field, check)

    def _checked(self, field: str, check: Callable[[str], list[str]]) -> str:
        text = self._texts.get(field, "")
        faults = check(text) if text else []
        if faults:
            raise self._refused(f"cannot be the value of {field}", text, faults[0])
        return text

    def _amount(self, resource: str, text: str) -> str:
        unit = self._units[f"requests.{resource}"]
        try:
            amount = quantity.parse(f"{text}{unit or ''}")
        except InputError as error:
            raise self._refused(f"is not an amount of {resource}", text, error.hint or "write a number") from error
        if quantity.sign(amount) < 0:
            raise self._refused(f"is not an amount of {resource}", text, "write a number that is not negative")
        if unit is None and text[-1:].isdigit():
            self._check_plausible(resource, text, quantity.milli_value(amount))
        return f"{text}{unit or ''}"

    def _check_plausible(self, resource: str, text: str, thousandths: int) -> None:
        meant = ""
        if resource == "cpu" and thousandths >= MAX_BARE_CORES * 1000:
            meant = f"{thousandths // 1000:,} cores; for millicores write cpu: {{column: …, unit: m}}"
        elif resource in _MEMORY and 0 < thousandths < MIN_BARE_BYTES * 1000:
            meant = f"{thousandths // 1000:,} bytes; for another unit write {resource}: {{column: …, unit: Gi}}"
        if meant:
            raise self._refused(f"is an implausible amount of {resource}", text, f'that is {meant}, else unit: ""')

    def _priority(self) -> str:
        text = self._texts.get("priority", "")
        if text.removeprefix("-").isdecimal():
            if not -(2**31) <= int(text) < 2**31:
                raise self._refused("is not a priority", text, "write a 32-bit integer")
            return text
        return self._checked("priority", dns1123_subdomain)

    def _replicas(self) -> int | None:
        text = self._texts.get("replicas", "")
        if text and not (text.isdecimal() and int(text) <= MAX_REPLICAS):
            raise self._refused("is not a number of replicas", text, f"write a whole number up to {MAX_REPLICAS:,}")
        return int(text) if text else None

    def _refused(self, wrong: str, text: str, hint: str) -> InputError:
        return InputError(wrong, file=str(self._file), line=self._line, value=text, hint=hint)
