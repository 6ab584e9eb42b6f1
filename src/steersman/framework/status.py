# SPDX-License-Identifier: Apache-2.0
"""The outcome of one plugin call: a value, never an exception.

Every extension point of the framework answers with a `Status`; `None` is the success that costs nothing. The codes and
their routing are kube-scheduler's. Faults (a broken plugin, a lost connection) are exceptions until the runner turns
them into a status with code ERROR.
"""

from __future__ import annotations

from enum import IntEnum

import msgspec

from steersman.graph_copy import shared_by_copies


class Code(IntEnum):
    """The outcomes that a plugin can report; the numbers and names are upstream's."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6

    @property
    def label(self) -> str:
        """The code as upstream prints it, for example ``UnschedulableAndUnresolvable``."""
        return _LABELS[self]


_LABELS = {
    Code.SUCCESS: "Success",
    Code.ERROR: "Error",
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.WAIT: "Wait",
    Code.SKIP: "Skip",
    Code.PENDING: "Pending",
}

_REJECTED = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})


@shared_by_copies
class Status(msgspec.Struct, frozen=True):
    """One plugin's answer: the code, the reasons shown to users, and the plugin that gave it."""

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @property
    def is_rejected(self) -> bool:
        """The pod does not fit (as opposed to: something is broken)."""
        return self.code in _REJECTED

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    def of(self, plugin: str) -> Status:
        """This status, signed by `plugin`."""
        return self if self.plugin == plugin else Status(self.code, self.reasons, plugin)


class CycleAborted(Exception):
    """An internal error of a plugin ends the cycle of this pod; the status says whose."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


#: Nothing to do for this pod: the plugin is left out of the phases that follow.
SKIP = Status(Code.SKIP)


def unschedulable(*reasons: str) -> Status:
    """Does not fit now; removing other pods may help."""
    return Status(Code.UNSCHEDULABLE, reasons)


def unresolvable(*reasons: str) -> Status:
    """Does not fit, and removing other pods cannot help."""
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)


def error(message: str) -> Status:
    """Something is broken: the cycle ends and the pod is retried after the error backoff."""
    return Status(Code.ERROR, (message,))


#: What upstream says of a plugin that broke; where nothing is listed, the point is named in the usual way.
_FAULTS = {
    "AddPod": 'running AddPod on PreFilter plugin "{}": ',
    "RemovePod": 'running RemovePod on PreFilter plugin "{}": ',
    "Filter": 'running "{}" filter plugin: ',
    "Score": 'running Score plugins: plugin "{}" failed with: ',
    "NormalizeScore": 'running Normalize on Score plugins: plugin "{}" failed with: ',
}


def fault(point: str, plugin: str, cause: BaseException | str) -> Status:
    """The status of a plugin that broke at an extension point, in upstream's words."""
    text = cause if isinstance(cause, str) else f"{type(cause).__name__}: {cause}"
    return Status(Code.ERROR, (fault_prefix(point, plugin) + text,), plugin)


def fault_prefix(point: str, plugin: str) -> str:
    """How the message of such a status begins."""
    return _FAULTS.get(point, f'running {point} plugin "{{}}": ').format(plugin)


def is_skip(status: Status | None) -> bool:
    return status is not None and status.code is Code.SKIP
