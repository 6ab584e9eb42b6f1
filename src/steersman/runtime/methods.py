# SPDX-License-Identifier: Apache-2.0
"""Finds the methods of a plugin by name and makes each callable in one uniform way.

A method may leave out the leading `state`; answers may be given in the short forms that `framework.plugin` allows. Both
are settled here, once, when a profile is built, so that the cycle calls plain functions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.plugin import PreFilterResult
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Code, Status, unschedulable
from steersman.runtime.faults import CycleAborted, PluginError, fault

Method = Callable[..., Any]
FilterMethod = Callable[[CycleState, PodInfo, NodeInfo], Status | None]
ScoreMethod = Callable[[CycleState, PodInfo, NodeInfo], int]
PreFilterMethod = Callable[[CycleState, PodInfo, Sequence[NodeInfo]], tuple[PreFilterResult | None, Status | None]]
StatusMethod = Callable[..., Status | None]

REASON_REJECTED = "node(s) were rejected by plugin {}"


def find(plugin: object, name: str, method: str, arguments: int) -> Method:
    """The plugin's method taking `arguments` arguments, of which the first is the cycle state."""
    function = getattr(plugin, method, None)
    if not callable(function):
        raise PluginError(f'plugin "{name}": method {method}() is missing')
    accepts = _positional(function)
    if accepts is None or accepts == arguments:
        return function  # type: ignore[no-any-return]
    if accepts == arguments - 1:
        return lambda state, *rest: function(*rest)
    raise PluginError(
        f'plugin "{name}": method {method}() takes {accepts} arguments, expected {arguments} or, without the state, '
        f"{arguments - 1}"
    )


def filter_method(plugin: object, name: str) -> FilterMethod:
    function = find(plugin, name, "filter", 3)

    def call(state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        try:
            answer = function(state, pod, node)
        except Exception as cause:
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
        except Exception as cause:
            raise CycleAborted(fault("Score", name, cause)) from cause
        if isinstance(answer, Status):
            raise CycleAborted(fault("Score", name, answer.message))
        if not isinstance(answer, int):
            raise CycleAborted(
                fault("Score", name, f"score() answered {answer!r} for node {node.name}, expected an int")
            )
        return answer

    return call


def pre_filter_method(plugin: object, name: str) -> PreFilterMethod:
    function = find(plugin, name, "pre_filter", 3)

    def call(
        state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status | None]:
        try:
            answer = function(state, pod, nodes)
        except Exception as cause:
            return None, fault("PreFilter", name, cause)
        if answer is None or isinstance(answer, PreFilterResult):
            return answer, None
        return None, _as_status(answer, "PreFilter", name)

    return call


def status_method(plugin: object, name: str, point: str, method: str, arguments: int) -> StatusMethod:
    """The checked call of a method that answers with a Status or None."""
    function = find(plugin, name, method, arguments)

    def call(*given: object) -> Status | None:
        try:
            answer = function(*given)
        except Exception as cause:
            return fault(point, name, cause)
        return None if answer is None or answer is True else _as_status(answer, point, name)

    return call


def _as_status(answer: object, point: str, name: str) -> Status | None:
    if isinstance(answer, Status):
        return None if answer.code is Code.SUCCESS else answer.of(name)
    if isinstance(answer, str):
        return unschedulable(answer).of(name)
    if answer is False:
        return unschedulable(REASON_REJECTED.format(name)).of(name)
    return fault(point, name, f"answered {answer!r}, expected None, True, a reason text or a Status")


def _positional(function: Callable[..., object]) -> int | None:
    """How many positional arguments the function takes; None when it takes any number."""
    kinds = [p.kind for p in inspect.signature(function).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return None
    return sum(k in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for k in kinds)
