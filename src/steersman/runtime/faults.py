"""A plugin that breaks: turned into one clear status, never into a traceback."""

from __future__ import annotations

from steersman.errors import SteersmanError
from steersman.framework.status import Code, Status


class PluginError(SteersmanError):
    """A plugin cannot be built or used: unknown, incomplete, or with wrong arguments."""


class CycleAborted(Exception):
    """An internal error of a plugin ends the cycle of this pod; the status says whose."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


def fault(point: str, plugin: str, cause: BaseException | str) -> Status:
    """The status of a plugin that raised, in upstream's words."""
    text = cause if isinstance(cause, str) else f"{type(cause).__name__}: {cause}"
    return Status(Code.ERROR, (f'running {point} plugin "{plugin}": {text}',), plugin)
