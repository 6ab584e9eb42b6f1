# SPDX-License-Identifier: Apache-2.0
"""A plugin that breaks: turned into one clear status, never into a traceback."""

from __future__ import annotations

from steersman.errors import SteersmanError
from steersman.framework.status import CycleAborted, Status, fault, fault_prefix

__all__ = ["CycleAborted", "PluginError", "as_fault", "fault"]


class PluginError(SteersmanError):
    """A plugin cannot be built or used: unknown, incomplete, or with wrong arguments."""


def as_fault(point: str, plugin: str, status: Status) -> Status:
    """A status that is no outcome at that point, in upstream's words; one that already speaks so stays as it is."""
    already = status.message.startswith(fault_prefix(point, plugin))
    return status if already else fault(point, plugin, status.message)
