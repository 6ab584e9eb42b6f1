# SPDX-License-Identifier: Apache-2.0
"""The PreFilter phase: skips, rejections of the whole pod, and restrictions to some nodes, merged in configured order.

The answers come from a callable per plugin, so that the scalar engine can ask the plugin and the columnar one can use
what it has kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from steersman.cycle.evaluation import PreFilterOutcome
from steersman.framework.plugin import PreFilterResult
from steersman.framework.status import Code, Status, unresolvable
from steersman.runtime.faults import CycleAborted, as_fault

Answer = tuple[PreFilterResult | None, Status | None]


def merge(answers: Iterable[tuple[str, Callable[[], Answer]]]) -> PreFilterOutcome:
    """Asks the plugins in order until one settles the matter. CycleAborted when one is broken."""
    skipped: set[str] = set()
    restricting: set[str] = set()
    allowed: frozenset[str] | None = None
    rejection: Status | None = None
    for name, ask in answers:
        result, status = ask()
        if status is not None:
            if status.code is Code.SKIP:
                skipped.add(name)
            elif status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return PreFilterOutcome(frozenset(skipped), status)
            elif status.code is Code.UNSCHEDULABLE:
                rejection = status
            else:
                raise CycleAborted(as_fault("PreFilter", name, status))
            continue
        if result is not None:
            restricting.add(name)
            allowed = result.node_names if allowed is None else allowed & result.node_names
            if not allowed:
                status = unresolvable(_nothing_left(restricting))
                return PreFilterOutcome(frozenset(skipped), status, allowed, frozenset(restricting))
    return PreFilterOutcome(frozenset(skipped), rejection, allowed, frozenset(restricting))


def _nothing_left(plugins: set[str]) -> str:
    names = sorted(plugins)
    if len(names) == 1:
        return f"node(s) didn't satisfy plugin {names[0]}"
    return f"node(s) didn't satisfy plugin(s) {go_list(names)} simultaneously"


def not_restricted_to(plugins: Iterable[str], refused: Iterable[Status] = ()) -> Status:
    """The status of nodes outside of the restriction. As upstream has it, what was against the nominated node, which was
    looked at before, is named as well."""
    named = {*plugins, *(status.plugin for status in refused)}
    return unresolvable(f"node(s) didn't satisfy plugin(s) {go_list(sorted(named))}")


def go_list(names: list[str]) -> str:
    """A list of names as upstream's messages show it."""
    return f"[{' '.join(names)}]"
