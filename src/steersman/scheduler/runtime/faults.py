# SPDX-License-Identifier: Apache-2.0
"""Internal errors of plugins: a status for the pod, and a log entry with the place in the plugin's
code."""

from __future__ import annotations

import logging
from pathlib import Path
from types import TracebackType
from typing import Final

from steersman.base import SteersmanError
from steersman.framework import CycleAborted, Status, fault_prefix, status as statuses

__all__ = ["PLUGIN_FAULTS", "CycleAborted", "PluginError", "as_fault", "describe_fault", "fault", "log_fault"]

logger = logging.getLogger(__name__)

RAISED: Final = 'plugin "%s" raised at %s'
#: An exception from the same line of the same plugin is logged at most once in this period.
LOG_INTERVAL_SECONDS: Final = 10.0
_MAX_PLACES: Final = 256
#: Packages with in-tree plugins; tracebacks show no frames of other packages of Steersman.
_PLUGIN_PACKAGES: Final = ("steersman.scheduler.plugins.", "steersman.scheduler.preemption.")
#: Exceptions of a plugin that end an attempt: `exit()` in a plugin must not end the process.
PLUGIN_FAULTS: Final = (Exception, SystemExit)


class PluginError(SteersmanError):
    """A plugin cannot be built or used: unknown, incomplete, or with invalid arguments."""


def fault(point: str, plugin: str, cause: BaseException | str) -> Status:
    """Return the status of a plugin that raised at an extension point, in upstream's words, with
    the place in the plugin's code. The exception is logged."""
    if isinstance(cause, str):
        return statuses.fault(point, plugin, cause)
    log_fault(point, plugin, cause)
    return statuses.fault(point, plugin, describe_fault(cause))


def log_fault(point: str, plugin: str, cause: BaseException) -> None:
    """Log an exception with the frames of the plugin's code. Steersman's own errors are clear
    without a traceback and are not logged."""
    if not isinstance(cause, SteersmanError):
        logger.error(RAISED, plugin, point, exc_info=(type(cause), cause, frames_of_plugin(cause)))


def as_fault(point: str, plugin: str, status: Status) -> Status:
    """Convert a status that is invalid at this extension point to an internal error, in upstream's
    words, unless it already is one."""
    already = status.message.startswith(fault_prefix(point, plugin))
    return status if already else fault(point, plugin, status.message)


def frames_of_plugin(cause: BaseException) -> TracebackType | None:
    """Return the traceback of an exception without the frames of Steersman, unless there are no
    others."""
    entries: list[TracebackType] = []
    entry = cause.__traceback__
    while entry is not None:
        entries.append(entry)
        entry = entry.tb_next
    shown: TracebackType | None = None
    for entry in reversed([e for e in entries if not _is_own_frame(e)]):
        shown = TracebackType(shown, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return shown or cause.__traceback__


def describe_fault(cause: BaseException) -> str:
    """Return the exception with the place in the plugin's code where it was raised: `KeyError:
    'rate' (rates.py, line 12, in score)`.

    A SyntaxError contains its place; errors in Steersman's own code have a traceback in the log.
    """
    text = f"{type(cause).__name__}: {cause}"
    if isinstance(cause, SyntaxError):
        return text.replace(f"({Path(cause.filename).name},", f"({cause.filename},") if cause.filename else text
    entry = None if isinstance(cause, SteersmanError) else _own_frame(frames_of_plugin(cause))
    return text if entry is None or _package(entry) == "steersman" else f"{text} ({_place(entry)})"


def _own_frame(frames: TracebackType | None) -> TracebackType | None:
    """Return the innermost frame of the plugin's own package: the libraries that it calls are not
    at fault."""
    entries: list[TracebackType] = []
    while frames is not None:
        if not frames.tb_frame.f_code.co_filename.startswith("<frozen") and _package(frames) != "importlib":
            entries.append(frames)
        frames = frames.tb_next
    return next((entry for entry in reversed(entries) if _package(entry) == _package(entries[0])), None)


def _place(entry: TracebackType) -> str:
    code = entry.tb_frame.f_code
    return f"{code.co_filename}, line {entry.tb_lineno}, in {code.co_name}"


def _package(entry: TracebackType) -> str:
    return str(entry.tb_frame.f_globals.get("__name__", "")).partition(".")[0]


def _is_own_frame(entry: TracebackType) -> bool:
    module = str(entry.tb_frame.f_globals.get("__name__", ""))
    return module.startswith("steersman.") and not module.startswith(_PLUGIN_PACKAGES)


class _Repetitions(logging.Filter):
    """Rate-limits repeated exceptions: a broken plugin is called for every node of every pod."""

    def __init__(self) -> None:
        super().__init__()
        self._logged_at: dict[tuple[object, ...], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.msg is not RAISED or not record.exc_info:
            return True
        entry = _own_frame(record.exc_info[2])
        place = (record.args, record.exc_info[0], entry and _place(entry))
        last = self._logged_at.get(place)
        if last is not None and 0 <= record.created - last < LOG_INTERVAL_SECONDS:
            return False
        if len(self._logged_at) >= _MAX_PLACES:
            self._logged_at.clear()
        self._logged_at[place] = record.created
        return True


logger.addFilter(_Repetitions())
