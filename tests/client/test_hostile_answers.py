# SPDX-License-Identifier: Apache-2.0
"""Answers that no API server should give: each becomes an error that the caller knows."""

from __future__ import annotations

import pytest
from aiohttp import web
from tests.client.serving import Handler, run, serve

from steersman.kube.client.connection import Connection
from steersman.kube.client.errors import UnreadableAnswer
from steersman.kube.client.foreign_input import MAX_PAUSE_SECONDS, error_from_status
from steersman.kube.client.lease import HttpLease
from steersman.kube.client.transport import http_transport

DEEP = b"[" * 5000 + b"]" * 5000


@pytest.mark.parametrize("body", [DEEP, b'{"message": %s}' % DEEP, b"\xff\xfe", b"<html>", b'{"code": "no"}', b""])
def test_a_refusal_that_is_no_status_has_the_code_of_the_answer(body: bytes) -> None:
    assert error_from_status(body, code=503).code == 503


@pytest.mark.parametrize("seconds", ["9" * 400, "-5", "1e3"])
def test_no_wait_is_longer_than_the_longest_or_shorter_than_none(seconds: str) -> None:
    refusal = error_from_status(b'{"code": 429, "details": {"retryAfterSeconds": %s}}' % seconds.encode())
    assert 0 <= (refusal.retry_after or 0) <= MAX_PAUSE_SECONDS
    assert 0 <= (error_from_status(b"", code=429, retry_after="9" * 400).retry_after or 0) <= MAX_PAUSE_SECONDS


@pytest.mark.parametrize("body", [DEEP, b"<html>", b"\xff", b'{"spec": {"leaseDurationSeconds": "long"}}'])
def test_a_lease_that_cannot_be_read_is_a_failed_request(body: bytes) -> None:
    async def scenario() -> None:
        async with serve(_sending(body)) as address, http_transport(Connection(address)) as transport:
            with pytest.raises(UnreadableAnswer, match="the lease"):
                await HttpLease(transport, "kube-system", "kube-scheduler", 5.0).get()

    run(scenario())


def _sending(body: bytes) -> Handler:
    async def send(_: web.Request) -> web.Response:
        return web.Response(body=body)

    return send
