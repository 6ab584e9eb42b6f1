# SPDX-License-Identifier: Apache-2.0
"""Times in documents and CSV files: numbers of seconds and durations such as `1h30m`."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from steersman.api import similar
from steersman.base import InputError
from steersman.cluster.kubelets import RandomDuration, parse_duration

FIXED_HINT: Final = 'write a number of seconds such as 30, or a duration such as "1h30m"'


def seconds(value: str | float, path: str) -> float:
    """Parse a fixed time in seconds. Raises `InputError` with the path."""
    duration = random_seconds(value, path)
    if not duration.is_fixed:
        raise InputError("must not depend on chance", field=path, value=value, hint=FIXED_HINT)
    return duration.parameters[0]


def random_seconds(value: str | float, path: str) -> RandomDuration:
    """Parse a fixed or random time. Raises `InputError` with the path."""
    try:
        return parse_duration(value)
    except InputError as error:
        raise error.located(field=path) from None


def csv_rows(path: Path, columns: dict[str, str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line number and texts by field of the document. Raises `InputError`.

    `columns` maps fields of the document, such as `time`, to names in the first line of the file.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            known = list(reader.fieldnames or ())
            for field, column in columns.items():
                if column not in known:
                    hint = f"{similar(column, known)} ({field} names it)"
                    raise InputError("is not a column of the file", file=str(path), line=1, value=column, hint=hint)
            for row in reader:
                yield reader.line_num, {field: row[column] or "" for field, column in columns.items()}
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from error
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8 text", file=str(path)) from error
    except csv.Error as error:
        raise InputError(f"is not a CSV file: {error}", file=str(path)) from error


def csv_seconds(path: Path, line: int, text: str) -> float:
    """Parse a fixed time in a file. Raises `InputError` with the line."""
    try:
        return seconds(text.strip(), "")
    except InputError as error:
        raise InputError(error.message, file=str(path), line=line, value=text, hint=FIXED_HINT) from error
