# SPDX-License-Identifier: Apache-2.0
"""Trouble between us and an API server, in one line with the remedy; and a log that says it once, not once per request.

`trouble_with` finds the cause behind an error of the client. `explain` and `doctor` print it; in a running scheduler, where
twenty watches fail together, `FailureLog` writes it down when it begins, once a minute while it lasts, and when it is over.

Events that the server refuses are told together as well: a namespace that is deleted refuses a hundred of them within a second.
`events` hands them to `DroppedEvents`, which has a line for those that one namespace refuses for one reason.
"""

from __future__ import annotations

import asyncio
import logging
import math
from threading import Lock
from typing import Final

import msgspec

from steersman.client.errors import ApiError, ConnectionFailed, UnreadableLine
from steersman.client.pacing import Timing
from steersman.clock import Clock
from steersman.errors import SteersmanError

logger = logging.getLogger(__name__)

REMIND_SECONDS: Final = 60.0
SEE_DOCTOR: Final = "`steersman doctor` shows what else is missing"
OVER: Final = "the API server at %s answers again"
COLLECT_SECONDS: Final = 1.0
"""So long refused events are collected before they are told."""
DROPPED_EVENT: Final = "an event about pod %s/%s is dropped: %s"
DROPPED_EVENTS: Final = "%d events about pods of namespace %s are dropped, the last about %s: %s"
_FORBIDDEN: Final = 403
_UNTRUSTED: Final = "CERTIFICATE_VERIFY_FAILED"


# -- trouble with a server ---------------------------------------------------------------------------------------------


class Trouble(msgspec.Struct, frozen=True):
    """Why an API server cannot be used, and what to do about it. Equal for all requests that fail for one cause."""

    cause: str
    remedy: str

    def line(self, details: object) -> str:
        return f"{self.cause}: {details}; {self.remedy}"


def trouble_with(server: str, failure: SteersmanError) -> Trouble | None:
    """The trouble that an error of the client comes from; None for what concerns a single request."""
    if isinstance(failure, ApiError) and failure.is_unauthorised:
        cause = f"the API server at {server} does not accept the credentials"
        return Trouble(cause, f"renew the token or certificate that the kubeconfig names; {SEE_DOCTOR}")
    if isinstance(failure, ApiError) and failure.code == _FORBIDDEN:
        cause = f"the API server at {server} does not allow this"
        return Trouble(cause, f"grant the rights of deploy/manifests/rbac.yaml; {SEE_DOCTOR}")
    if isinstance(failure, UnreadableLine) or not isinstance(failure, ConnectionFailed):
        return None
    if _UNTRUSTED in str(failure):
        cause = f"the certificate of the API server at {server} is not trusted"
        return Trouble(cause, "is this the cluster that is meant? See the context and certificate-authority-data of it")
    if failure.may_have_arrived:
        cause = f"the API server at {server} does not answer as it should"
        return Trouble(cause, "see whether it is well (/readyz), and what is between: proxies, load balancers")
    cause = f"cannot reach the API server at {server}"
    return Trouble(
        cause, "does it run, and is it the one that is meant? See --kubeconfig, its current-context, --master"
    )


class FailureLog:
    """The log of failures of one API server. Threads may share it."""

    def __init__(self, clock: Clock, server: str) -> None:
        self._clock = clock
        self._server = server
        self._lock = Lock()
        #: What fails now, each with its trouble.
        self._failing: dict[str, Trouble] = {}
        #: When a trouble was last told, monotonic.
        self._told: dict[Trouble, float] = {}

    def failed(self, what: str, failure: SteersmanError) -> bool:
        """`what` is being done and fails. False: it is not one of the known troubles, and nothing has been said of it."""
        trouble = trouble_with(self._server, failure)
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

    def succeeded(self, what: str) -> None:
        """A request of that name works, or works again."""
        with self._lock:
            was_failing = self._failing.pop(what, None) is not None
            is_over = was_failing and not self._failing
            if is_over:
                self._told.clear()
        if is_over:
            logger.info(OVER, self._server)


# -- events that a server did not take ---------------------------------------------------------------------------------


class _Refusals(msgspec.Struct):
    """Refused events of one namespace and one kind of refusal."""

    count: int = 0
    pod: str = ""
    reason: str = ""


class DroppedEvents:
    """The events that were dropped and not yet told."""

    def __init__(self) -> None:
        self._refusals: dict[tuple[str, str], _Refusals] = {}
        self._has_some = asyncio.Event()

    def add(self, namespace: str, pod: str, failure: SteersmanError) -> None:
        """Texts of refusals name the event, so that alike ones are told apart by code and reason only."""
        kind = f"{failure.code} {failure.reason}" if isinstance(failure, ApiError) else type(failure).__name__
        refusals = self._refusals.setdefault((namespace, kind), _Refusals())
        refusals.count += 1
        refusals.pod, refusals.reason = pod, str(failure)
        self._has_some.set()

    async def run(self, timing: Timing) -> None:
        """Tells of what is dropped until it is cancelled."""
        try:
            while True:
                await self._has_some.wait()
                await timing.sleep(COLLECT_SECONDS)
                self.tell()
        finally:
            self.tell()

    def tell(self) -> None:
        for (namespace, _), refusals in self._refusals.items():
            if refusals.count == 1:
                logger.warning(DROPPED_EVENT, namespace, refusals.pod, refusals.reason)
            else:
                logger.warning(DROPPED_EVENTS, refusals.count, namespace, refusals.pod, refusals.reason)
        self._refusals.clear()
        self._has_some.clear()
