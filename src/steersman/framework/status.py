# SPDX-License-Identifier: Apache-2.0
"""The result of one plugin call: a value, never an exception.

Every extension point returns a `Status`; None is success. The codes and their meaning are
kube-scheduler's. Internal errors (a broken plugin, a lost connection) are exceptions until the
framework turns them into a status with code ERROR.
"""

from __future__ import annotations

from enum import IntEnum

import msgspec

from steersman.base.graph_copy import shared_by_copies


class Code(IntEnum):
    """Outcomes that a plugin can report; the numbers and names are upstream's."""

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
    """Result of one plugin: the code, the reasons shown to users, and the plugin's name."""

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @property
    def is_rejected(self) -> bool:
        """Whether the pod does not fit, as opposed to an internal error."""
        return self.code in _REJECTED

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    def with_plugin(self, plugin: str) -> Status:
        """Return this status with the plugin's name."""
        return self if self.plugin == plugin else Status(self.code, self.reasons, plugin)


class CycleAborted(Exception):
    """An internal error of a plugin ends the cycle of this pod; the status names the plugin."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


#: Nothing to do for this pod: the plugin is skipped in the following phases.
SKIP = Status(Code.SKIP)


def unschedulable(*reasons: str) -> Status:
    """Return a rejection that removing other pods may resolve."""
    return Status(Code.UNSCHEDULABLE, reasons)


def unresolvable(*reasons: str) -> Status:
    """Return a rejection that removing other pods cannot resolve."""
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)


def error(message: str) -> Status:
    """Return an internal error: the cycle ends and the pod is retried after the error backoff."""
    return Status(Code.ERROR, (message,))


#: Upstream's messages for broken plugins; other points use the default message of `fault_prefix`.
_FAULTS = {
    "AddPod": 'running AddPod on PreFilter plugin "{}": ',
    "RemovePod": 'running RemovePod on PreFilter plugin "{}": ',
    "Filter": 'running "{}" filter plugin: ',
    "Score": 'running Score plugins: plugin "{}" failed with: ',
    "NormalizeScore": 'running Normalize on Score plugins: plugin "{}" failed with: ',
    "PlacementScore": 'running PlacementScore plugins: plugin "{}" failed with: ',
    # The cycle of a group begins these messages.
    "PlacementFeasible": 'plugin "{}": ',
    "NormalizePlacementScore": "",
    "PodGroupPostFilter": "",
}


def fault(point: str, plugin: str, cause: BaseException | str) -> Status:
    """Return the status of a plugin that raised at an extension point, in upstream's words."""
    text = cause if isinstance(cause, str) else f"{type(cause).__name__}: {cause}"
    return Status(Code.ERROR, (fault_prefix(point, plugin) + text,), plugin)


def fault_prefix(point: str, plugin: str) -> str:
    """Return the beginning of the message of such a status."""
    return _FAULTS.get(point, f'running {point} plugin "{{}}": ').format(plugin)


def is_skip(status: Status | None) -> bool:
    return status is not None and status.code is Code.SKIP
