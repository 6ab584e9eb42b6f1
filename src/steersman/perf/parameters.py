"""Parameters: what `$initNodes` of a template of operations stands for in one workload.

`workload_files` has the operations and the workloads; `unrolled` makes of both what is to be carried out, in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from steersman.errors import InputError
from steersman.perf.operations import CreatePodSets, Operation

Value: TypeAlias = "int | float | str | bool"

OperationT = TypeVar("OperationT", bound=Operation)

SUFFIX: Final = "_param"
_WANTED: Final[Mapping[str, tuple[type | tuple[type, ...], str]]] = {
    "count": ((int, float), "a number"),
    "max_claims_per_node": ((int, float), "a number"),
    "duration": (str, 'a duration such as "30s"'),
    "steady_state": (bool, "true or false"),
}


class Parameters:
    """Of one workload; remembers which were asked for."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = values
        self._used: set[str] = set()

    def of(self, name: str, field: str) -> Value:
        """The value of `$name` for a field."""
        if not name.startswith("$"):
            raise InputError("names no parameter", field=_wire(field) + "Param", value=name, hint="write $ before it")
        wanted, described = _WANTED[field]
        value = self._values.get(name[1:])
        if value is None:
            known = ", ".join(f"${known}" for known in self._values) or "none"
            raise InputError("is not among the workload's params", value=name, hint=f"those are {known}")
        self._used.add(name[1:])
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise InputError("has the wrong type", field=f"params.{name[1:]}", value=value, hint=f"use {described}")
        return int(value) if isinstance(value, float) else value

    def unused(self) -> list[str]:
        return [name for name in self._values if name not in self._used]


def unrolled(steps: Iterable[Operation], parameters: Parameters) -> Iterator[tuple[int, Operation]]:
    """The operations with their values, each with its place in the template; sets of pods become one operation each.

    Raises `InputError` that names the operation and the field.
    """
    for place, step in enumerate(steps):
        try:
            yield from ((place, made) for made in _unrolled(step, parameters))
        except InputError as error:
            inside = f"workloadTemplate[{place}]"
            field = inside if error.field is None or error.field.startswith("params.") else f"{inside}.{error.field}"
            placed = InputError(error.message, value=error.value, hint=error.hint, field=field)
            raise placed from error


def _unrolled(step: Operation, parameters: Parameters) -> Iterator[Operation]:
    operation = _with_values(step, parameters)
    operation.check()
    if not isinstance(operation, CreatePodSets):
        yield operation
        return
    for number in range(operation.count):
        pods = _with_values(operation.create_pods_op, parameters)
        pods.check()
        yield msgspec.structs.replace(pods, namespace=f"{operation.namespace_prefix}-{number}")


def _with_values(step: OperationT, parameters: Parameters) -> OperationT:
    changes: dict[str, Any] = {}
    for name in step.__struct_fields__:
        if name.endswith(SUFFIX) and (given := getattr(step, name)):
            field = name.removesuffix(SUFFIX)
            changes[field] = parameters.of(given, field)
    return msgspec.structs.replace(step, **changes) if changes else step


def _wire(field: str) -> str:
    return "steadyState" if field == "steady_state" else field
