# SPDX-License-Identifier: Apache-2.0
"""Runs all checks of a target and returns a report; a check that is impossible is a finding too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final

from steersman.base import PlainStruct, SteersmanError
from steersman.kube.client import SEE_DOCTOR, ApiError, ConnectionFailed, server_problem
from steersman.run.doctor.access import check_access
from steersman.run.doctor.clock_skew import check_clock
from steersman.run.doctor.finding import Finding, Level, fail, ok, warn
from steersman.run.doctor.leases import check_lease
from steersman.run.doctor.pods import check_instances, check_pods
from steersman.run.doctor.target import DoctorTarget
from steersman.run.doctor.versions import check_versions

Check = Callable[[DoctorTarget], Awaitable[list[Finding]]]

CHECKS: Final[Sequence[tuple[str, Check]]] = (
    ("versions", check_versions),
    ("clock", check_clock),
    ("access", check_access),
    ("lease", check_lease),
    ("schedulers", check_instances),
    ("pods", check_pods),
)
_FORBIDDEN: Final = 403


class Examination(PlainStruct, frozen=True):
    server: str
    findings: tuple[Finding, ...]

    @property
    def has_failed(self) -> bool:
        return any(finding.level is Level.FAIL for finding in self.findings)

    def text(self, width: int | None = None) -> str:
        """Return the report as text, folded at `width` characters unless None."""
        return "\n".join(self._lines(width))

    def _lines(self, width: int | None) -> Iterator[str]:
        for finding in self.findings:
            yield from finding.lines(width)
        counts = {level: sum(finding.level is level for finding in self.findings) for level in Level}
        yield ", ".join(f"{count} {level}" for level, count in counts.items())


async def examine(
    target: DoctorTarget, server: str, configuration_fault: str = "", flag_findings: Sequence[Finding] = ()
) -> Examination:
    """Run all checks. `configuration_fault` is why the given configuration is unusable, in which
    case the target has the default one; `flag_findings` are about the command line."""
    findings = [*flag_findings, _configuration(configuration_fault)]
    for name, check in CHECKS:
        try:
            findings += await check(target)
        except (SteersmanError, ExceptionGroup) as raised:
            failure = _meant_for_users(raised)
            if _ends_examination(failure):
                findings.append(_no_connection(server, failure))
                break
            findings.append(_not_checked(name, failure))
    return Examination(server, tuple(findings))


def _configuration(fault: str) -> Finding:
    if fault:
        return fail("config", fault, "correct it; what follows is by the default configuration")
    return ok("config", "the configuration can be used")


def _ends_examination(failure: SteersmanError) -> bool:
    """Return whether all other checks would fail in the same way."""
    return isinstance(failure, ConnectionFailed) or (isinstance(failure, ApiError) and failure.is_unauthorised)


def _no_connection(server: str, failure: SteersmanError) -> Finding:
    trouble = server_problem(server, failure)
    if trouble is None:
        return fail("connection", f"cannot use the API server at {server}: {failure}", "see --kubeconfig and --context")
    return fail("connection", f"{trouble.cause}: {failure}", trouble.remedy.removesuffix(f"; {SEE_DOCTOR}"))


def _not_checked(name: str, failure: SteersmanError) -> Finding:
    if isinstance(failure, ApiError) and failure.code == _FORBIDDEN:
        return warn(name, f"cannot be checked: {failure}", "ask with the rights of an administrator")
    return warn(name, f"cannot be checked: {failure}", "ask again")


def _meant_for_users(failure: Exception) -> SteersmanError:
    """Return the first error of a group. Errors other than `SteersmanError` are raised."""
    first = failure
    while isinstance(first, ExceptionGroup):
        first = first.exceptions[0]
    if not isinstance(first, SteersmanError):
        raise failure
    return first
