# SPDX-License-Identifier: Apache-2.0
"""Who held the lease when, by the requests that the API server granted, and who wrote without holding it.

A term of a process begins when the server receives the write that makes it the holder. It ends `leaseDuration` after the last
renewal was sent, or when the server receives that another holds it, or that it is given up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tests.chaos.audit_trail import AuditedRequest, LifeKey

WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@dataclass(slots=True)
class LeaseTerm:
    """An unbroken time in which one process held the lease."""

    holder: LifeKey
    begin: float
    last_renewal: float
    end: float


@dataclass(frozen=True, slots=True)
class UnfencedWrite:
    """A write that was sent by a process that did not hold the lease then."""

    request: AuditedRequest
    #: Who held the lease at that moment, if anybody did.
    held_by: LifeKey | None


def lease_terms(requests: Iterable[AuditedRequest], lease_seconds: float) -> list[LeaseTerm]:
    terms: list[LeaseTerm] = []
    current: LeaseTerm | None = None
    for request in requests:
        if not request.writes_lease or request.sender is None:
            continue
        is_holder = current is not None and current.holder == request.sender
        # A renewal whose answer a killed server took with it may have been stored: nobody else can have got the lease then.
        if not request.granted and not (request.code is None and is_holder):
            continue
        if current is not None and (not is_holder or request.holder == ""):
            current.end = min(current.end, request.received)
            current = None
        if request.holder == "":
            continue
        expires = request.sent + lease_seconds
        if current is not None and request.sent <= current.end:
            current.last_renewal, current.end = request.sent, max(current.end, expires)
        else:
            current = LeaseTerm(request.sender, request.received, request.sent, expires)
            terms.append(current)
    return terms


def unfenced_writes(requests: Iterable[AuditedRequest], terms: Sequence[LeaseTerm]) -> list[UnfencedWrite]:
    """Of pods, bindings, events, claims, volumes: all but the lease itself and events about it."""
    found = []
    for request in requests:
        if not _needs_lease(request) or _covered(request, terms):
            continue
        holder = next((term.holder for term in terms if term.begin <= request.sent <= term.end), None)
        found.append(UnfencedWrite(request, holder))
    return found


def leaderless_seconds(terms: Sequence[LeaseTerm], begin: float, end: float) -> float:
    """From the last sign of life of each holder to the first of the next one, and before the first."""
    total = 0.0
    last = begin
    for term in terms:
        total += max(0.0, min(term.begin, end) - max(last, begin))
        last = term.last_renewal
    return total


def _needs_lease(request: AuditedRequest) -> bool:
    if request.sender is None or request.verb not in WRITES or request.writes_lease:
        return False
    return not (request.resource == "events" and request.namespace == "kube-system")


def _covered(request: AuditedRequest, terms: Sequence[LeaseTerm]) -> bool:
    return any(term.holder == request.sender and term.begin <= request.sent <= term.end for term in terms)
