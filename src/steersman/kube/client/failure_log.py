# SPDX-License-Identifier: Apache-2.0
"""Failures of an API server: one line with cause and remedy, logged once, not per request.

`server_problem` finds the cause of a client error. `explain` and `doctor` print it; in a running
scheduler, where all watches and bindings fail together, `FailureLog` logs it at its beginning, once
a minute, and at its end. Informers, lease, dispatcher and event recorder share one `FailureLog`.

Refused events are grouped: a terminating namespace refuses a hundred in a second. `DroppedEvents`
logs one line per namespace and reason.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
from threading import Lock
from typing import Final

import msgspec

from steersman.base import Clock, SteersmanError, Timing
from steersman.kube.client.errors import ApiError, ConnectionFailed, UnreadableLine

logger = logging.getLogger(__name__)

REMIND_SECONDS: Final = 60.0
BINDING: Final = "binding pods"
UPDATING_STATUS: Final = "updating the status of pods"
WRITING_EVENTS: Final = "writing events"
#: Requests that are only sent on demand, so that a failure may not be followed by a success. They
#: count as working when another request that failed for the same cause succeeds.
_ON_DEMAND: Final = (BINDING, UPDATING_STATUS, WRITING_EVENTS)
SEE_DOCTOR: Final = "`steersman doctor` shows what else is missing"
NO_ANSWER_REMEDY: Final = "see whether the API server is well (/readyz), and what is between: proxies, load balancers"
OVER: Final = "the API server at %s answers again"
COLLECT_SECONDS: Final = 1.0
"""Refused events are collected for this time before they are logged."""
DROPPED_EVENT: Final = "an event about pod %s/%s is dropped: %s"
DROPPED_EVENTS: Final = "%d events about pods of namespace %s are dropped, the last about %s: %s"
_FORBIDDEN: Final = 403
#: Refusals of admission plugins, which concern one object. Those of the authorizer name the user.
_REFUSED_BY_ADMISSION: Final = re.compile(r"being terminated|is forbidden: (?!User )|denied the request")
_UNTRUSTED: Final = "CERTIFICATE_VERIFY_FAILED"


# -- server problems ---------------------------------------------------------------------------------------------------


class ServerProblem(msgspec.Struct, frozen=True):
    """Why an API server cannot be used, and the remedy. Equal for all requests with one cause."""

    cause: str
    remedy: str

    def line(self, details: object) -> str:
        return f"{self.cause}: {details}; {self.remedy}"


def server_problem(server: str, failure: SteersmanError) -> ServerProblem | None:
    """Return the general cause of a client error; None if it concerns a single request."""
    if isinstance(failure, ApiError) and failure.is_unauthorised:
        cause = f"the API server at {server} does not accept the credentials"
        return ServerProblem(cause, f"renew the token or certificate that the kubeconfig names; {SEE_DOCTOR}")
    if isinstance(failure, ApiError) and _lacks_rights(failure):
        cause = f"the API server at {server} does not allow this"
        return ServerProblem(cause, f"grant the rights of deploy/manifests/rbac.yaml; {SEE_DOCTOR}")
    if isinstance(failure, UnreadableLine) or not isinstance(failure, ConnectionFailed):
        return None
    if _UNTRUSTED in str(failure):
        cause = f"the certificate of the API server at {server} is not trusted"
        return ServerProblem(
            cause, "is this the intended cluster? See the context and certificate-authority-data of it"
        )
    if failure.may_have_arrived:
        cause = f"the API server at {server} does not answer as it should"
        return ServerProblem(cause, NO_ANSWER_REMEDY)
    cause = f"cannot reach the API server at {server}"
    return ServerProblem(
        cause, "does it run, and is it the intended one? See --kubeconfig, its current-context, --master"
    )


def _lacks_rights(failure: ApiError) -> bool:
    return failure.code == _FORBIDDEN and not _REFUSED_BY_ADMISSION.search(failure.message)


class FailureLog:
    """Log of the failures of one API server. Thread-safe."""

    def __init__(self, clock: Clock, server: str = "an unnamed address") -> None:
        self._clock = clock
        self._server = server
        self._lock = Lock()
        #: Name of each failing request → its cause.
        self._failing: dict[str, ServerProblem] = {}
        #: Monotonic time at which a problem was last logged.
        self._told: dict[ServerProblem, float] = {}

    def failed(self, what: str, failure: SteersmanError) -> bool:
        """Log the failure of the request named `what`; False if it concerns one request only."""
        trouble = server_problem(self._server, failure)
        if trouble is None:
            return False
        with self._lock:
            self._failing[what] = trouble
            others = sum(other == trouble for other in self._failing.values()) - 1
            is_due = self._clock.monotonic() - self._told.get(trouble, -math.inf) >= REMIND_SECONDS
            if is_due:
                self._told[trouble] = self._clock.monotonic()
        among = f" and {others} more" if others else ""
        logger.log(logging.WARNING if is_due else logging.DEBUG, "%s%s: %s", what, among, trouble.line(failure))
        return True

    def is_failing(self, what: str) -> bool:
        """Return whether the last request of that name failed for a cause that is logged here."""
        return what in self._failing

    def succeeded(self, what: str) -> None:
        """Record that requests of that name work. Cheap unless they were failing."""
        if what not in self._failing:
            return
        with self._lock:
            trouble = self._failing.pop(what, None)
            for name in _ON_DEMAND:
                if name in self._failing and self._failing[name] == trouble:
                    del self._failing[name]
            is_over = trouble is not None and not self._failing
            if is_over:
                self._told.clear()
        if is_over:
            logger.info(OVER, self._server)


# -- dropped events ----------------------------------------------------------------------------------------------------


class _Refusals(msgspec.Struct):
    """Refused events of one namespace and one kind of refusal."""

    count: int = 0
    pod: str = ""
    reason: str = ""


class DroppedEvents:
    """Dropped events that were not logged yet."""

    def __init__(self) -> None:
        self._refusals: dict[tuple[str, str], _Refusals] = {}
        self._has_some = asyncio.Event()

    def add(self, namespace: str, pod: str, failure: SteersmanError) -> None:
        """Group refusals by code and reason, because their messages name the event."""
        kind = f"{failure.code} {failure.reason}" if isinstance(failure, ApiError) else type(failure).__name__
        refusals = self._refusals.setdefault((namespace, kind), _Refusals())
        refusals.count += 1
        refusals.pod, refusals.reason = pod, str(failure)
        self._has_some.set()

    async def run(self, timing: Timing) -> None:
        """Log dropped events until cancelled."""
        try:
            while True:
                await self._has_some.wait()
                await timing.sleep(COLLECT_SECONDS)
                self.report()
        finally:
            self.report()

    def report(self) -> None:
        for (namespace, _), refusals in self._refusals.items():
            if refusals.count == 1:
                logger.warning(DROPPED_EVENT, namespace, refusals.pod, refusals.reason)
            else:
                logger.warning(DROPPED_EVENTS, refusals.count, namespace, refusals.pod, refusals.reason)
        self._refusals.clear()
        self._has_some.clear()
