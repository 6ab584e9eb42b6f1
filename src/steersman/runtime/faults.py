# SPDX-License-Identifier: Apache-2.0
"""A plugin that breaks: one clear status for the pod, and for the log where in the plugin's code it happened."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Final

from steersman.errors import SteersmanError
from steersman.framework import status as statuses
from steersman.framework.status import CycleAborted, Status, fault_prefix

__all__ = ["CycleAborted", "PluginError", "as_fault", "fault", "frames_of_plugin", "log_fault", "told"]

logger = logging.getLogger(__name__)

RAISED: Final = 'plugin "%s" raised at %s'
#: An exception from the same line of the same plugin is logged again after so many seconds.
SECONDS_BETWEEN: Final = 10.0
_MOST_PLACES: Final = 256
#: Packages of Steersman with plugins in them; a traceback shows no frames of the others.
_PLUGIN_PACKAGES: Final = ("steersman.plugins.", "steersman.preemption.")


class PluginError(SteersmanError):
    """A plugin cannot be built or used: unknown, incomplete, or with wrong arguments."""


def fault(point: str, plugin: str, cause: Exception | str) -> Status:
    """The status of a plugin that broke at an extension point, in upstream's words; an exception is logged."""
    if isinstance(cause, Exception):
        log_fault(point, plugin, cause)
    return statuses.fault(point, plugin, cause)


def log_fault(point: str, plugin: str, cause: Exception) -> None:
    """Logs a fault with the frames of the plugin's code. Errors of Steersman's own say all there is to say, and are not
    logged."""
    if not isinstance(cause, SteersmanError):
        logger.error(RAISED, plugin, point, exc_info=(type(cause), cause, frames_of_plugin(cause)))


def as_fault(point: str, plugin: str, status: Status) -> Status:
    """A status that is no outcome at that point, in upstream's words; one that already speaks so stays as it is."""
    already = status.message.startswith(fault_prefix(point, plugin))
    return status if already else fault(point, plugin, status.message)


def frames_of_plugin(cause: BaseException) -> TracebackType | None:
    """The traceback of an exception without the frames of Steersman, unless it has no others."""
    entries: list[TracebackType] = []
    entry = cause.__traceback__
    while entry is not None:
        entries.append(entry)
        entry = entry.tb_next
    shown: TracebackType | None = None
    for entry in reversed([e for e in entries if not _is_steersmans(e)]):
        shown = TracebackType(shown, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return shown or cause.__traceback__


def told(cause: Exception) -> str:
    """`KeyError: 'rate' (rates.py, line 12, in __init__)`: an exception of a plugin and the innermost of its own frames."""
    place = _place(frames_of_plugin(cause))
    return f"{type(cause).__name__}: {cause}" + (f" ({place})" if place else "")


def _place(frames: TracebackType | None) -> str:
    if frames is None:
        return ""
    while frames.tb_next is not None:
        frames = frames.tb_next
    code = frames.tb_frame.f_code
    return f"{code.co_filename}, line {frames.tb_lineno}, in {code.co_name}"


def _is_steersmans(entry: TracebackType) -> bool:
    module = str(entry.tb_frame.f_globals.get("__name__", ""))
    return module.startswith("steersman.") and not module.startswith(_PLUGIN_PACKAGES)


class _Repetitions(logging.Filter):
    """Lets an exception pass once in a while: a plugin that breaks is asked about every node of every pod."""

    def __init__(self) -> None:
        super().__init__()
        self._logged_at: dict[tuple[object, ...], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.msg is not RAISED or not record.exc_info:
            return True
        place = (record.args, record.exc_info[0], _place(record.exc_info[2]))
        last = self._logged_at.get(place)
        if last is not None and 0 <= record.created - last < SECONDS_BETWEEN:
            return False
        if len(self._logged_at) >= _MOST_PLACES:
            self._logged_at.clear()
        self._logged_at[place] = record.created
        return True


logger.addFilter(_Repetitions())
