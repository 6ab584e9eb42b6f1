# SPDX-License-Identifier: Apache-2.0
"""Log lines like those of Kubernetes components: klog text or JSON, with verbosity levels.

    log = logs.set_up(verbosity=2)
    log.info("Pod bound", pod=ObjectRef("default", "web-0"), node="n1")
    log.v(4).info("…")                       # nothing happens unless the verbosity is 4 or more

Modules that use Python's `logging` get the same format. Foreign text (messages of servers,
extenders and plugins) is sanitized: control and bidi characters are escaped, a line stays one line,
and traceback lines are indented, so that none looks like an entry.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import textwrap
import time
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, TextIO

import msgspec

from steersman.base import printable_json, printable_lines

ROOT: Final = "steersman"
#: Verbosity from which Python's DEBUG messages are logged.
DEBUG_VERBOSITY: Final = 4
_LETTERS: Final = {
    logging.DEBUG: "I",
    logging.INFO: "I",
    logging.WARNING: "W",
    logging.ERROR: "E",
    logging.CRITICAL: "F",
}


class LogFormat(StrEnum):
    """Values of --logging-format."""

    TEXT = "text"
    JSON = "json"


class ObjectRef(msgspec.Struct, frozen=True):
    """An object as a field: `"namespace/name"` in text, an object in JSON."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def to_dict(self) -> dict[str, str]:
        return {"name": self.name, **({"namespace": self.namespace} if self.namespace else {})}


class Log:
    """Logger of structured messages: a constant text and fields."""

    def __init__(self, logger: logging.Logger, verbosity: int, level: int = 0) -> None:
        self._logger = logger
        self._verbosity = verbosity
        self._level = level

    def v(self, level: int) -> Log | NullLog:
        """Return the log for messages of this verbosity."""
        return Log(self._logger, self._verbosity, level) if level <= self._verbosity else SILENCE

    def info(self, message: str, /, **fields: object) -> None:
        self._logger.info("%s", message, extra={"fields": fields, "v": self._level}, stacklevel=2)

    def error(self, message: str, /, error: BaseException | None = None, **fields: object) -> None:
        if error is not None:
            fields = {"err": str(error), **fields}
        self._logger.error("%s", message, extra={"fields": fields}, stacklevel=2)


class NullLog:
    """A log without output."""

    def v(self, level: int) -> NullLog:
        return self

    def info(self, message: str, /, **fields: object) -> None:
        """Do nothing."""

    def error(self, message: str, /, error: BaseException | None = None, **fields: object) -> None:
        """Do nothing."""


SILENCE: Final = NullLog()


def set_up(verbosity: int = 0, form: LogFormat = LogFormat.TEXT, stream: TextIO | None = None) -> Log:
    """Send Steersman's log to the stream (default: standard error) only. Other packages' messages
    go where Python sends them, in the same format."""
    logger = logging.getLogger(ROOT)
    formatter = JsonFormatter() if form is LogFormat.JSON else TextFormatter()
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(formatter)
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(formatter)
    logger.handlers[:] = [handler]
    logger.propagate = False
    logger.setLevel(logging.DEBUG if verbosity >= DEBUG_VERBOSITY else logging.INFO)
    return Log(logger, verbosity)


class TextFormatter(logging.Formatter):
    """Formats klog text: ``I1115 21:49:47.123456    4242 driver.py:12] "Message" key="value"``"""

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%m%d %H:%M:%S", time.localtime(record.created))
        micros = int(record.created % 1 * 1_000_000)
        letter = _LETTERS.get(record.levelno, "I")
        place = f"{record.filename}:{record.lineno}"
        parts = [f"{letter}{moment}.{micros:06d} {os.getpid():7d} {place}] {_quoted(record.getMessage())}"]
        parts += (f"{name}={_value(value)}" for name, value in _fields(record).items())
        line = printable_json(" ".join(parts))
        return f"{line}\n{_indented(self.formatException(record.exc_info))}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """Formats a JSON object per line: ts (milliseconds), caller, msg, v for INFO, fields."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "ts": round(record.created * 1000, 4),
            "caller": f"{record.filename}:{record.lineno}",
            "msg": record.getMessage(),
        }
        if record.levelno < logging.WARNING:
            entry["v"] = getattr(record, "v", 0)
        entry.update((name, value) for name, value in _fields(record).items() if name not in entry)
        if record.exc_info:
            entry["stacktrace"] = self.formatException(record.exc_info)
        return printable_json(json.dumps(entry, ensure_ascii=False, default=_plain))


def _fields(record: logging.LogRecord) -> Mapping[str, object]:
    fields: Mapping[str, object] = getattr(record, "fields", {})
    if record.exc_info and record.exc_info[1] is not None and "err" not in fields:
        return {"err": str(record.exc_info[1]), **fields}
    return fields


def _indented(traceback: str) -> str:
    return textwrap.indent(printable_lines(traceback), "  ")


def _plain(value: object) -> object:
    return value.to_dict() if isinstance(value, ObjectRef) else str(value)


def _value(value: object) -> str:
    """Return the value as text; quoted unless a number or boolean."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else _quoted(str(value))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
