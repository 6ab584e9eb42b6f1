# SPDX-License-Identifier: Apache-2.0
"""Who held the lease is read from the log of the server; a write of anybody else is found."""

from __future__ import annotations

from dataclasses import replace

from tests.chaos.audit_trail import AuditedRequest, LifeKey
from tests.chaos.lease_history import leaderless_seconds, lease_terms, unfenced_writes

LEASE = 6.0
A1, A2, B1 = LifeKey("a", 1), LifeKey("a", 2), LifeKey("b", 1)


def renewal(sender: LifeKey, at: float, *, code: int | None = 200, holder: str | None = None) -> AuditedRequest:
    who = f"{sender.replica}{sender.number}" if holder is None else holder
    return AuditedRequest(
        "update", "leases", "kube-system", "kube-scheduler", sender, at, at + 0.01, at + 0.02, code, who
    )


def binding(sender: LifeKey, at: float, *, received: float | None = None) -> AuditedRequest:
    arrived = at + 0.01 if received is None else received
    return AuditedRequest("create", "pods/binding", "default", "web", sender, at, arrived, arrived + 0.01, 201)


def unfenced(*requests: AuditedRequest) -> list[tuple[float, LifeKey | None]]:
    """When they were sent, and who held the lease then."""
    found = unfenced_writes(requests, lease_terms(requests, LEASE))
    return [(one.request.sent, one.held_by) for one in found]


def test_a_write_within_a_renewed_lease_is_in_order() -> None:
    assert not unfenced(renewal(A1, 0), binding(A1, 1), renewal(A1, 5), binding(A1, 10.9))


def test_a_write_after_the_lease_has_run_out_is_found() -> None:
    assert unfenced(renewal(A1, 0), binding(A1, 6.5)) == [(6.5, None)]


def test_a_write_while_another_holds_the_lease_is_found() -> None:
    assert unfenced(renewal(A1, 0), renewal(B1, 6.2), binding(A1, 7)) == [(7, B1)]


def test_a_write_before_the_lease_was_won_is_found() -> None:
    assert unfenced(binding(B1, 1), renewal(B1, 2)) == [(1, None)]


def test_a_write_after_the_lease_was_given_up_is_found() -> None:
    assert unfenced(renewal(A1, 0), renewal(A1, 2, holder=""), binding(A1, 3)) == [(3, None)]


def test_a_new_process_of_the_same_replica_does_not_inherit_the_lease() -> None:
    assert unfenced(renewal(A1, 0), binding(A2, 3)) == [(3, A1)]


def test_a_renewal_that_was_refused_does_not_count() -> None:
    assert unfenced(renewal(A1, 0), renewal(A1, 4, code=409), binding(A1, 7)) == [(7, None)]


def test_a_renewal_of_the_holder_whose_answer_is_unknown_counts() -> None:
    assert not unfenced(renewal(A1, 0), renewal(A1, 4, code=None), binding(A1, 7))
    assert unfenced(renewal(A1, 0), renewal(B1, 4, code=None), binding(B1, 5)) == [(5, A1)]


def test_what_a_paused_server_received_late_counts_when_it_was_sent() -> None:
    assert not unfenced(renewal(A1, 0), binding(A1, 5, received=20))


def test_events_about_the_lease_and_other_users_need_none() -> None:
    event = replace(binding(A1, 1), resource="events", namespace="kube-system")
    assert not unfenced(event, replace(binding(A1, 1), sender=None))


def test_time_without_a_leader_is_counted_from_the_last_renewal() -> None:
    requests = [renewal(A1, 0.99), renewal(A1, 3), renewal(B1, 9.99), renewal(B1, 11)]
    assert leaderless_seconds(lease_terms(requests, LEASE), begin=0.0, end=12.0) == 1 + 7
