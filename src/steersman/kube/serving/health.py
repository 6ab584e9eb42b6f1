# SPDX-License-Identifier: Apache-2.0
"""Health checks like kube-apiserver's: `/healthz`, `/livez`, `/readyz`. No I/O.

A check runs on every request. Reasons of failures are logged and shown at `/readyz/<check>`, which
needs access rights; the open summary withholds them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from http import HTTPStatus
from typing import Final

import msgspec

#: Returns the reason of a failure, "" if healthy.
Probe = Callable[[], str]

HANDLERS_NOT_SYNCED: Final = "handlers are not fully synchronized"
SHUTTING_DOWN: Final = "process is shutting down"


class HealthCheck(msgspec.Struct, frozen=True):
    name: str
    probe: Probe


PING: Final = HealthCheck("ping", lambda: "")


#: Callback for every check of a summary: path, name of the check, whether it failed.
OnCheck = Callable[[str, str, bool], None]


def _ignore(path: str, check: str, failed: bool) -> None:
    """Do nothing."""


class HealthAnswer(msgspec.Struct, frozen=True):
    """HTTP status and plain text."""

    status: HTTPStatus
    text: str
    #: Lines for the log: `name failed: reason`.
    failures: tuple[str, ...] = ()


class Health:
    """Checks of one path. Without any, a check that always succeeds."""

    def __init__(self, name: str, checks: Iterable[HealthCheck] = (), on_check: OnCheck = _ignore) -> None:
        #: Name in the path, such as `readyz`.
        self.name = name
        self.checks = tuple(checks) or (PING,)
        self._on_check = on_check

    def summary(self, verbose: bool = False, excluded: Collection[str] = ()) -> HealthAnswer:
        """Run all checks except excluded ones; the answer has all lines if one fails."""
        failures = {check.name: reason for check in self._asked(excluded) if (reason := self._ask(check))}
        lines = [self._line(check, excluded, failures) for check in self.checks]
        lines += self._unknown(excluded)
        if failures:
            text = "".join((*lines, f"{self.name} check failed\n"))
            failed_checks = tuple(f"{name} failed: {reason}" for name, reason in failures.items())
            return HealthAnswer(HTTPStatus.INTERNAL_SERVER_ERROR, text, failed_checks)
        return HealthAnswer(HTTPStatus.OK, "".join((*lines, f"{self.name} check passed\n")) if verbose else "ok")

    def single(self, name: str) -> HealthAnswer | None:
        """Run one check and return the answer with the reason; None if it does not exist."""
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
