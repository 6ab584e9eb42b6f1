# SPDX-License-Identifier: Apache-2.0
"""The exit codes, which mean the same in every command.

A command prints its answer if it exits with 0, 1 or 4, and only an error line if it exits with 2 or 3.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command reports to the shell; `meaning` is its line in the manual."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> ExitCode:
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    YES = 0, "the command succeeded, and the answer is yes"
    NO = 1, "the answer is no: a pod is pending or failed, something differs, a check failed, or `run` lost its lease"
    BAD_INPUT = 2, "the command line, a file or the cluster cannot be used; standard error has a line that says why"
    FAULT = 3, "Steersman itself failed; `steersman --debug …` prints the traceback"
    STOPPED = 4, "the simulation was stopped, because pods were retried without progress"
    INTERRUPTED = 130, "Ctrl-C"
