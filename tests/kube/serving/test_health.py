# SPDX-License-Identifier: Apache-2.0
"""Health answers in upstream's words."""

from __future__ import annotations

from http import HTTPStatus

from steersman.kube.serving import HANDLERS_NOT_SYNCED, PING, Health, HealthCheck


def failing(name: str) -> HealthCheck:
    return HealthCheck(name, lambda: HANDLERS_NOT_SYNCED)


def test_health_without_checks_is_a_ping() -> None:
    answer = Health("livez").summary(verbose=True)
    assert (answer.status, answer.text) == (HTTPStatus.OK, "[+]ping ok\nlivez check passed\n")


def test_a_healthy_summary_is_short_unless_it_shall_be_verbose() -> None:
    assert Health("healthz", [PING]).summary().text == "ok"


def test_a_failure_is_reported_in_full_without_its_reason() -> None:
    answer = Health("readyz", [PING, failing("sched-handler-sync")]).summary()
    assert answer.status == HTTPStatus.INTERNAL_SERVER_ERROR
    assert answer.text == "[+]ping ok\n[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n"
    assert answer.failures == (f"sched-handler-sync failed: {HANDLERS_NOT_SYNCED}",)


def test_an_excluded_check_is_not_asked() -> None:
    answer = Health("readyz", [failing("sync"), PING]).summary(verbose=True, excluded=["sync"])
    assert answer.text == "[+]sync excluded: ok\n[+]ping ok\nreadyz check passed\n"


def test_a_check_that_is_not_there_cannot_be_excluded() -> None:
    text = Health("readyz", [PING]).summary(verbose=True, excluded=["b", "a"]).text
    assert 'warn: some health checks cannot be excluded: no matches for "a","b"\n' in text


def test_a_single_check_tells_its_reason() -> None:
    health = Health("readyz", [PING, failing("sync")])
    assert health.single("ping") == Health("livez").single("ping")
    answer = health.single("sync")
    assert answer is not None
    assert answer.text == f"internal server error: {HANDLERS_NOT_SYNCED}\n"
    assert health.single("nothing") is None


def test_metrics_get_every_check_of_a_summary() -> None:
    told: list[tuple[str, str, bool]] = []
    health = Health("readyz", [PING, failing("sync")], lambda *result: told.append(result))
    health.summary()
    health.single("sync")
    assert told == [("readyz", "ping", False), ("readyz", "sync", True)]
