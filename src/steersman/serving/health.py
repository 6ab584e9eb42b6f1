# SPDX-License-Identifier: Apache-2.0
"""Health checks as kube-apiserver's machinery answers them: `/healthz`, `/livez`, `/readyz`. No I/O.

A check is asked when somebody looks. Reasons of failures go to the log and to `/readyz/<check>`, which needs access rights;
the open summary withholds them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from http import HTTPStatus
from typing import Final

import msgspec

#: The reason of a failure; "" when all is well.
Probe = Callable[[], str]

HANDLERS_NOT_SYNCED: Final = "handlers are not fully synchronized"
SHUTTING_DOWN: Final = "process is shutting down"


class HealthCheck(msgspec.Struct, frozen=True):
    name: str
    probe: Probe


PING: Final = HealthCheck("ping", lambda: "")


#: Told of every check of a summary: the path, the check's name, and whether it failed.
OnCheck = Callable[[str, str, bool], None]


def _ignore(path: str, check: str, failed: bool) -> None:
    """Nobody counts."""


class HealthAnswer(msgspec.Struct, frozen=True):
    """An HTTP answer in plain text."""

    status: HTTPStatus
    text: str
    #: For the log: `name failed: reason`, one line each.
    failures: tuple[str, ...] = ()


class Health:
    """The checks behind one path. Without any, there is one that always succeeds."""

    def __init__(self, name: str, checks: Iterable[HealthCheck] = (), on_check: OnCheck = _ignore) -> None:
        #: As in the path: `readyz`.
        self.name = name
        self.checks = tuple(checks) or (PING,)
        self._on_check = on_check

    def summary(self, verbose: bool = False, excluded: Collection[str] = ()) -> HealthAnswer:
        """The answer of all checks but the excluded ones; a failure is always told with all lines."""
        failures = {check.name: reason for check in self._asked(excluded) if (reason := self._ask(check))}
        lines = [self._line(check, excluded, failures) for check in self.checks]
        lines += self._unknown(excluded)
        if failures:
            text = "".join((*lines, f"{self.name} check failed\n"))
            told = tuple(f"{name} failed: {reason}" for name, reason in failures.items())
            return HealthAnswer(HTTPStatus.INTERNAL_SERVER_ERROR, text, told)
        return HealthAnswer(HTTPStatus.OK, "".join((*lines, f"{self.name} check passed\n")) if verbose else "ok")

    def single(self, name: str) -> HealthAnswer | None:
        """The answer of one check, with the reason; None when there is no such check."""
        check = next((check for check in self.checks if check.name == name), None)
        if check is None:
            return None
        reason = check.probe()
        if reason:
            return HealthAnswer(HTTPStatus.INTERNAL_SERVER_ERROR, f"internal server error: {reason}\n")
        return HealthAnswer(HTTPStatus.OK, "ok")

    def _ask(self, check: HealthCheck) -> str:
        reason = check.probe()
        self._on_check(self.name, check.name, bool(reason))
        return reason

    def _asked(self, excluded: Collection[str]) -> Iterator[HealthCheck]:
        return (check for check in self.checks if check.name not in excluded)

    def _line(self, check: HealthCheck, excluded: Collection[str], failures: Collection[str]) -> str:
        if check.name in excluded:
            return f"[+]{check.name} excluded: ok\n"
        return f"[-]{check.name} failed: reason withheld\n" if check.name in failures else f"[+]{check.name} ok\n"

    def _unknown(self, excluded: Collection[str]) -> Iterator[str]:
        unknown = sorted(set(excluded) - {check.name for check in self.checks})
        if unknown:
            names = ",".join(f'"{name}"' for name in unknown)
            yield f"warn: some health checks cannot be excluded: no matches for {names}\n"
