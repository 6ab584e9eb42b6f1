# SPDX-License-Identifier: Apache-2.0
"""The usage of pods, read from a CSV file of krr or a Prometheus export.

    krr (csv)     Namespace, Name, Type, Container, CPU Requests, Memory Requests     a row per container of a workload
    Prometheus    namespace, pod, container, cpu, memory                              a row per container of a pod

Columns are found by name, in any order and case; others are ignored. Amounts are quantities (250m,
300Mi) or plain numbers: cores of CPU, bytes of memory. krr's `100m -> 20m` is 20m; `?` and `unset`
are missing values. For several rows of a container (a series of samples), a percentile is used.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from steersman.api import quantity
from steersman.base import InputError

COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "namespace": ("namespace", "exported_namespace", "kubernetes_namespace"),
    "pod": ("pod", "pod_name", "exported_pod"),
    "workload": ("name", "workload", "owner_name"),
    "kind": ("type", "kind", "workload_type", "owner_kind"),
    "container": ("container", "container_name", "exported_container"),
    "cpu": ("cpu", "cpu requests", "cpu_usage", "cpu_cores", "container_cpu_usage_seconds_total"),
    "memory": ("memory", "memory requests", "memory_usage", "memory_bytes", "container_memory_working_set_bytes"),
}
"""Column → its possible names in lower case."""
NOTHING: Final = frozenset({"", "?", "unset", "none", "nan", "null", "-"})
PAUSE: Final = "POD"
"""cAdvisor's name of a pod's pause container."""


class ContainerName(NamedTuple):
    """A container of a pod, or of all pods of a workload."""

    namespace: str
    #: The pod's name; "" for a workload.
    pod: str
    #: Kind and name of the workload; the kind is "" if the file omits it.
    kind: str
    workload: str
    #: "" means the only container.
    container: str

    def __str__(self) -> str:
        name = self.pod or (f"{self.kind} {self.workload}" if self.kind else self.workload)
        return f"{self.namespace}/{name}" + (f" container {self.container}" if self.container else "")


Usage = Mapping[ContainerName, Mapping[str, float]]
"""container → resource → cores or bytes."""


def load_usage(path: str | Path, *, percentile: float = 100.0, columns: Mapping[str, str] | None = None) -> Usage:
    """Load the usage of a file; `columns` has other names of columns, such as {"cpu": "Value #A"}.
    Raises `InputError` with line, column and value."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            return read_usage(csv.reader(file), str(path), percentile=percentile, columns=columns)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError("is not a CSV file in UTF-8", file=str(path)) from error


def read_usage(
    lines: Iterable[Sequence[str]], file: str, *, percentile: float = 100.0, columns: Mapping[str, str] | None = None
) -> Usage:
    """Return the usage of rows, the first of which names the columns."""
    if not 0 < percentile <= 100:
        raise InputError("is not a percentile", value=percentile, hint="use a number above 0, up to 100")
    rows = iter(lines)
    places = _places(next(rows, []), file, columns or {})
    samples: dict[ContainerName, dict[str, list[float]]] = {}
    above = ("", "", "")
    for number, row in enumerate(rows, 2):
        if not any(cell.strip() for cell in row):
            continue
        cells = {name: row[place].strip() if place < len(row) else "" for name, place in places.items()}
        if "pod" not in places:  # krr names a workload only in its first row
            own = (cells.get("namespace", ""), cells.get("kind", ""), cells["workload"])
            above = own if cells["workload"] else above
        container = _container(cells, above, file, number)
        if container.container == PAUSE:
            continue
        for resource in ("cpu", "memory"):
            amount = _amount(cells.get(resource, ""), resource, file, number)
            if amount is not None:
                samples.setdefault(container, {}).setdefault(resource, []).append(amount)
    return {
        container: {name: percentile_of(sorted(values), percentile) for name, values in found.items()}
        for container, found in samples.items()
    }


def _places(header: Sequence[str], file: str, columns: Mapping[str, str]) -> dict[str, int]:
    """Return the index of each column."""
    titles = [title.strip().lower() for title in header]
    places: dict[str, int] = {}
    for name, known in COLUMNS.items():
        wanted = (columns[name].strip().lower(),) if name in columns else known
        place = next((titles.index(title) for title in wanted if title in titles), None)
        if place is not None:
            places[name] = place
        elif name in columns:
            raise InputError("has no such column", file=file, line=1, value=columns[name], hint=_listed(header))
    if "pod" not in places and "workload" not in places:
        raise InputError("has no column with pods or workloads", file=file, line=1, hint=_hint("pod", "workload"))
    if "cpu" not in places and "memory" not in places:
        raise InputError("has no column with cpu or memory", file=file, line=1, hint=_hint("cpu", "memory"))
    return places


def _hint(*names: str) -> str:
    known = ", ".join(title for name in names for title in COLUMNS[name])
    return f"columns may be called {known}; --column {names[0]}=TITLE names another"


def _listed(header: Sequence[str]) -> str:
    return f"columns are: {', '.join(header)}"


def _container(cells: Mapping[str, str], above: tuple[str, str, str], file: str, line: int) -> ContainerName:
    container = cells.get("container", "")
    if "pod" in cells:
        if not cells["pod"]:
            raise InputError("is missing", file=file, line=line, field="pod", hint="every row names a pod")
        return ContainerName(cells.get("namespace") or "default", cells["pod"], "", "", container)
    namespace, kind, workload = above
    if not workload:
        raise InputError("is missing", file=file, line=line, field="name", hint="the first row names a workload")
    return ContainerName(namespace or "default", "", kind, workload, container)


def _amount(text: str, resource: str, file: str, line: int) -> float | None:
    """Parse cores or bytes; return None for a missing value."""
    written = text.rpartition("->")[2].strip()
    if written.lower() in NOTHING:
        return None
    try:
        amount = float(written)
    except ValueError:
        try:
            parsed = quantity.parse(written)
        except InputError as error:
            hint = 'use a number or a quantity, such as "0.25", "250m" or "300Mi"'
            raise InputError("is not an amount", file=file, line=line, field=resource, value=text, hint=hint) from error
        amount = quantity.scaled_value(parsed, -9) / 1e9
    if not math.isfinite(amount) or amount < 0:
        raise InputError("is not an amount", file=file, line=line, field=resource, value=text, hint="use 0 or more")
    return amount


def percentile_of(ordered: Sequence[float], percentile: float) -> float:
    """Return the percentile of sorted values, by nearest rank."""
    return ordered[max(0, math.ceil(len(ordered) * percentile / 100) - 1)]
