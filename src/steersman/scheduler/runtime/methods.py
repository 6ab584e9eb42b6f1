# SPDX-License-Identifier: Apache-2.0
"""Finds the methods of a plugin by name and gives each a uniform signature.

A method may omit the leading `state`, and may return the short forms that `framework.plugin`
allows. Both are resolved once, when a profile is built, so that the cycle calls plain functions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from steersman.framework import (
    Code,
    CycleState,
    NodeInfo,
    PodGroupAssignments,
    PodGroupInfo,
    PodInfo,
    PreFilterResult,
    Status,
    unschedulable,
)
from steersman.scheduler.runtime.faults import PLUGIN_FAULTS, CycleAborted, PluginError, fault

Method = Callable[..., Any]
FilterMethod = Callable[[CycleState, PodInfo, NodeInfo], Status | None]
ScoreMethod = Callable[[CycleState, PodInfo, NodeInfo], int]
PreFilterMethod = Callable[[CycleState, PodInfo, Sequence[NodeInfo]], tuple[PreFilterResult | None, Status | None]]
PlacementScoreMethod = Callable[[CycleState, PodGroupInfo, PodGroupAssignments], int]
StatusMethod = Callable[..., Status | None]

REASON_REJECTED = "node(s) were rejected by plugin {}"
#: Methods that may be coroutines; `refresh` must be one.
_COROUTINES = frozenset({"pre_bind", "bind", "refresh"})


def find(plugin: object, name: str, method: str, arguments: int) -> Method:
    """Return the plugin's method with `arguments` arguments, the first of which is the cycle
    state."""
    function = getattr(plugin, method, None)
    if not callable(function):
        raise PluginError(f'plugin "{name}": method {method}() is missing')
    check_is_awaited(function, name, method)
    accepts = _positional(function)
    if accepts is None or accepts == arguments:
        return function  # type: ignore[no-any-return]
    if accepts == arguments - 1:
        return lambda state, *rest: function(*rest)
    raise PluginError(
        f'plugin "{name}": method {method}() takes {accepts} arguments, expected {arguments} or, without the state, '
        f"{arguments - 1}"
    )


def check_is_awaited(function: Method, name: str, method: str) -> None:
    """Raise PluginError for a coroutine that would not be awaited, or a `refresh` that is not a
    coroutine."""
    is_coroutine = inspect.iscoroutinefunction(function)
    if is_coroutine and method not in _COROUTINES:
        raise PluginError(f'plugin "{name}": method {method}() is a coroutine, which is not awaited here; write `def`')
    if not is_coroutine and method == "refresh":
        raise PluginError(f'plugin "{name}": method refresh() is not a coroutine; write `async def refresh(self)`')


def filter_method(plugin: object, name: str) -> FilterMethod:
    function = find(plugin, name, "filter", 3)

    def call(state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        try:
            answer = function(state, pod, node)
        except PLUGIN_FAULTS as cause:
            return fault("Filter", name, cause)
        if answer is None or answer is True:
            return None
        return _as_status(answer, "Filter", name)

    return call


def score_method(plugin: object, name: str) -> ScoreMethod:
    function = find(plugin, name, "score", 3)

    def call(state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        try:
            answer = function(state, pod, node)
        except PLUGIN_FAULTS as cause:
            raise CycleAborted(fault("Score", name, cause)) from cause
        return _as_score(answer, "Score", name, "score()", f" for node {node.name}")

    return call


def placement_score_method(plugin: object, name: str) -> PlacementScoreMethod:
    function = find(plugin, name, "score_placement", 3)

    def call(state: CycleState, group: PodGroupInfo, assignments: PodGroupAssignments) -> int:
        try:
            answer = function(state, group, assignments)
        except PLUGIN_FAULTS as cause:
            raise CycleAborted(fault("PlacementScore", name, cause)) from cause
        return _as_score(answer, "PlacementScore", name, "score_placement()")

    return call


def _as_score(answer: object, point: str, name: str, call: str, where: str = "") -> int:
    if isinstance(answer, int):
        return answer
    message = answer.message if isinstance(answer, Status) else f"{call} returned {answer!r}{where}, expected an int"
    raise CycleAborted(fault(point, name, message))


def pre_filter_method(plugin: object, name: str) -> PreFilterMethod:
    function = find(plugin, name, "pre_filter", 3)

    def call(
        state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status | None]:
        try:
            answer = function(state, pod, nodes)
        except PLUGIN_FAULTS as cause:
            return None, fault("PreFilter", name, cause)
        if answer is None or isinstance(answer, PreFilterResult):
            return answer, None
        return None, _as_status(answer, "PreFilter", name)

    return call


def status_method(plugin: object, name: str, point: str, method: str, arguments: int) -> StatusMethod:
    """Return the checked call of a method that returns a Status or None."""
    function = find(plugin, name, method, arguments)

    def call(*given: object) -> Status | None:
        try:
            answer = function(*given)
        except PLUGIN_FAULTS as cause:
            return fault(point, name, cause)
        return None if answer is None or answer is True else _as_status(answer, point, name)

    return call


def _as_status(answer: object, point: str, name: str) -> Status | None:
    if isinstance(answer, Status):
        return None if answer.code is Code.SUCCESS else answer.with_plugin(name)
    if isinstance(answer, str):
        return unschedulable(answer).with_plugin(name)
    if answer is False:
        return unschedulable(REASON_REJECTED.format(name)).with_plugin(name)
    return fault(point, name, f"returned {answer!r}, expected None, True, a reason text or a Status")


def _positional(function: Callable[..., object]) -> int | None:
    """Return the number of positional arguments of the function; None if it takes any number."""
    kinds = [p.kind for p in inspect.signature(function).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return None
    return sum(k in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for k in kinds)
