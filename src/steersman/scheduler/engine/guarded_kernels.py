# SPDX-License-Identifier: Apache-2.0
"""Internal errors in fragments and kernels end the cycle of the pod and name the plugin, file and
line.

`evaluation_plan` uses these guards to make fragments and kernels. Kernels of out-of-tree plugins
get guarded methods; in-tree kernels are compared with their scalar methods by property tests, and
stay unguarded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache
from types import FunctionType
from typing import Any, Final, TypeVar

import numpy as np

from steersman.framework import ALL_ROWS, NodesView, PodInfo, columns
from steersman.scheduler.runtime.faults import PLUGIN_FAULTS, CycleAborted, fault

KernelT = TypeVar("KernelT")

_BASES: Final = (
    *(columns.FilterKernel, columns.ClusterFilterKernel, columns.GroupingFilterKernel),
    *(columns.ScoreKernel, columns.ClusterScoreKernel, columns.GroupingScoreKernel),
)
_METHODS: Final = {name for base in _BASES for name, found in vars(base).items() if isinstance(found, FunctionType)}


def guarded_fragment(find: Callable[[PodInfo], Hashable], pod: PodInfo, plugin: str, point: str) -> Hashable:
    """Return the pod's fragment. Raises CycleAborted if the plugin raises, or returns an unhashable
    value."""
    fragment: Hashable = _call(find, (pod,), plugin, point)
    try:
        hash(fragment)
    except TypeError as cause:
        raise _wrong_answer(find, f"{fragment!r}, expected a hashable value ({cause})", plugin, point) from cause
    return fragment


def guarded_kernel(
    make: Callable[[PodInfo, NodesView], KernelT], pod: PodInfo, view: NodesView, plugin: str, point: str
) -> KernelT:
    """Return the kernel for the pod, with guarded methods. Raises CycleAborted if the plugin
    raises, or `rows` returns too few rows."""
    kernel: KernelT = _call(make, (pod, view), plugin, point)
    plain: Any = type(kernel)
    if kernel is not None and not issubclass(plain, _BASES):
        raise _wrong_answer(make, f"{kernel!r}, expected a kernel of steersman.framework.columns", plugin, point)
    if kernel is None or _is_in_tree(plain):
        return kernel
    if not hasattr(plain, "is_guarded"):
        kernel.__class__ = _guarded_class(plain, plugin, point)
    if isinstance(kernel, columns.FilterKernel | columns.ScoreKernel):
        shape = kernel.rows(ALL_ROWS).shape
        if shape != (view.capacity,):
            raise _wrong_answer(plain.rows, f"an array of shape {shape} for all {view.capacity} rows", plugin, point)
    return kernel


def _is_in_tree(found: type) -> bool:
    return found.__module__.startswith("steersman.")


@cache
def _guarded_class(base: type, plugin: str, point: str) -> type:
    """Return a subclass with the same name whose methods report errors as those of the plugin."""
    own = {name for found in base.__mro__ if not _is_in_tree(found) for name in vars(found)}
    methods = {name: _guarded_method(base, name, plugin, point) for name in _METHODS & own}
    return type(base.__name__, (base,), {"__slots__": (), "is_guarded": True, "__module__": base.__module__, **methods})


def _guarded_method(base: type, name: str, plugin: str, point: str) -> Callable[..., Any]:
    def call(self: object, *given: Any) -> Any:
        method = getattr(base, name)
        answer = _call(method, (self, *given), plugin, point)
        problem = _CHECKS[name](answer, *given) if name in _CHECKS else ""
        if problem:
            raise _wrong_answer(method, problem, plugin, point)
        return answer

    return call


def _row_problem(answer: object, row: int) -> str:
    return "" if isinstance(answer, int | np.integer) else f"{answer!r} for row {row}, expected an int"


def _rows_problem(answer: object, rows: object) -> str:
    if not isinstance(answer, np.ndarray) or answer.dtype.kind not in "iub":
        return f"{getattr(answer, 'dtype', type(answer).__name__)}, expected an array of integers"
    is_short = isinstance(rows, np.ndarray) and answer.shape != rows.shape
    return f"an array of shape {answer.shape} for {len(rows)} rows" if is_short else ""  # type: ignore[arg-type]


_CHECKS: Final[dict[str, Callable[..., str]]] = {"row": _row_problem, "rows": _rows_problem}


def _call(function: Callable[..., Any], given: tuple[Any, ...], plugin: str, point: str) -> Any:
    try:
        return function(*given)
    except CycleAborted:
        raise
    except PLUGIN_FAULTS as cause:
        raise CycleAborted(fault(point, plugin, cause)) from cause


def _wrong_answer(function: Callable[..., Any], answer: str, plugin: str, point: str) -> CycleAborted:
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    place = f" ({code.co_filename}, line {code.co_firstlineno})" if code is not None else ""
    return CycleAborted(fault(point, plugin, f"{function.__name__}() returned {answer}{place}"))
