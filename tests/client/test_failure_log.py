# SPDX-License-Identifier: Apache-2.0
"""What stands between us and an API server is said once, with the remedy."""

from __future__ import annotations

import logging

import pytest
from tests.client.api_server import ApiServer
from tests.client.following import IMPATIENT, Diary, running, until
from tests.client.serving import run

from steersman.base.clock import ManualClock
from steersman.kube.client import ApiError, ClientError, ConnectionFailed, FailureLog, Informers, server_problem
from steersman.kube.client.connection import Connection
from steersman.kube.client.failure_log import BINDING, REMIND_SECONDS, UPDATING_STATUS, WRITING_EVENTS
from steersman.kube.client.transport import http_transport

SERVER = "https://here:6443"
REFUSED = ApiError(401, "Unauthorized", "Unauthorized")
UNTRUSTED = "Cannot connect to here:6443: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"


@pytest.mark.parametrize(
    ("failure", "cause", "remedy"),
    [
        (REFUSED, "does not accept the credentials", "renew the token"),
        (ApiError(403, "Forbidden", "pods is forbidden"), "does not allow this", "deploy/manifests/rbac.yaml"),
        (ConnectionFailed("refused", may_have_arrived=False), "cannot reach the API server", "current-context"),
        (ConnectionFailed("no answer in time", may_have_arrived=True), "does not answer as it should", "/readyz"),
        (ConnectionFailed(UNTRUSTED, may_have_arrived=False), "is not trusted", "certificate-authority-data"),
    ],
)
def test_every_cause_has_its_remedy(failure: ClientError, cause: str, remedy: str) -> None:
    trouble = server_problem(SERVER, failure)
    assert trouble is not None
    line = trouble.line(failure)
    assert cause in line
    assert SERVER in line
    assert str(failure) in line
    assert remedy in line
    assert "\n" not in line


def test_a_fault_of_the_server_in_one_request_is_no_trouble_with_it() -> None:
    assert server_problem(SERVER, ApiError(500, "InternalError", "etcd")) is None


@pytest.mark.parametrize(
    "message",
    [
        "unable to create new content in namespace gone because it is being terminated",
        'events "a" is forbidden: exceeded quota: small',
        'admission webhook "policy.example.com" denied the request: no',
    ],
)
def test_a_refusal_of_an_admission_plugin_is_no_missing_right(message: str) -> None:
    assert server_problem(SERVER, ApiError(403, "Forbidden", message)) is None


def test_writes_that_are_not_repeated_do_not_outlive_a_trouble(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    failures = FailureLog(ManualClock(), SERVER)
    for what in (BINDING, UPDATING_STATUS, WRITING_EVENTS):
        failures.failed(what, REFUSED)
    failures.succeeded(BINDING)
    assert "answers again" in caplog.text
    assert not failures.is_failing(UPDATING_STATUS)


def test_a_trouble_is_told_when_it_begins_and_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    failures = FailureLog(clock, SERVER)
    for _ in range(3):
        for kind in ("pods", "nodes", "services"):
            assert failures.failed(f"following {kind}", REFUSED)
    assert len(caplog.records) == 1
    clock.advance(REMIND_SECONDS)
    failures.failed("following pods", REFUSED)
    assert "following pods and 2 more: " in caplog.records[-1].getMessage()
    assert len(caplog.records) == 2


def test_the_end_of_a_trouble_is_told_when_nothing_fails_any_more(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    failures = FailureLog(ManualClock(), SERVER)
    for kind in ("pods", "nodes"):
        failures.failed(kind, REFUSED)
    failures.succeeded("pods")
    assert "answers again" not in caplog.text
    failures.succeeded("nodes")
    assert "answers again" in caplog.text
    failures.failed("pods", REFUSED)
    assert caplog.records[-1].levelno == logging.WARNING


def test_a_bad_token_is_one_warning_however_many_kinds_are_followed(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        server = ApiServer()
        server.faults.refuse(401, times=100)
        async with server.serving() as address, http_transport(Connection(address)) as transport:
            informers = Informers(transport, Diary(), IMPATIENT)
            async with running(informers.run()):
                await until(lambda: informers.has_synced)

    run(scenario())
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "does not accept the credentials" in warnings[0]
    assert "steersman doctor" in warnings[0]
