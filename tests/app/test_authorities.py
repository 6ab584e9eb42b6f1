# SPDX-License-Identifier: Apache-2.0
"""Whom client certificates are believed: flags, and what the API server publishes."""

from __future__ import annotations

import asyncio
import datetime
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.client.following import IMPATIENT, running, until
from tests.client.serving import run, serve

from steersman.base.errors import InputError
from steersman.kube.client import ApiError, Connection, UnreadableAnswer, http_transport
from steersman.kube.serving import CertificateUsers, ServerTls, TlsOptions, self_signed
from steersman.run.app import AuthenticationOptions
from steersman.run.app.endpoints import AUTHORITIES_PATH, Authorities, look_up, published
from steersman.testing.control_plane import Authority

USERS, PROXIES = Authority("users"), Authority("proxies")


class Publisher:
    """An API server that has nothing but the ConfigMap."""

    def __init__(self, **data: str) -> None:
        self.data = data
        self.code = 200
        self.asked = 0

    async def answer(self, request: web.Request) -> web.Response:
        assert request.path == AUTHORITIES_PATH
        self.asked += 1
        body: dict[str, Any] = {
            "kind": "ConfigMap",
            "data": {name.replace("_", "-"): v for name, v in self.data.items()},
        }
        return web.json_response(body, status=self.code)


@asynccontextmanager
async def authorities(
    publisher: Publisher, options: AuthenticationOptions
) -> AsyncIterator[tuple[Authorities, CertificateUsers]]:
    own = self_signed(("127.0.0.1",), datetime.datetime.now(datetime.UTC))
    users = CertificateUsers()
    async with serve(publisher.answer) as address, http_transport(Connection(address)) as transport:
        yield Authorities(options, transport, users, ServerTls(TlsOptions(), lambda: own)), users


def full() -> Publisher:
    return Publisher(
        client_ca_file=USERS.certificate.decode(),
        requestheader_client_ca_file=PROXIES.certificate.decode(),
        requestheader_allowed_names=json.dumps(["front"]),
        requestheader_username_headers=json.dumps(["X-Remote-User"]),
    )


def test_what_the_api_server_publishes_is_believed() -> None:
    async def scenario() -> None:
        async with authorities(full(), AuthenticationOptions(tolerate_lookup_failure=False)) as (kept, users):
            await kept.prepare()
            assert users.authorities.users == USERS.certificate
            assert users.authorities.proxy.authorities == PROXIES.certificate
            assert (users.authorities.proxy.allowed_names, users.authorities.proxy.groups) == (("front",), ())

    run(scenario())


def test_it_is_looked_up_again_and_again() -> None:
    async def scenario() -> None:
        publisher = Publisher()
        async with authorities(publisher, AuthenticationOptions()) as (kept, users):
            await kept.prepare()
            assert publisher.asked == 0
            async with running(kept.keep_fresh(IMPATIENT)):
                await until(lambda: publisher.asked)
                assert not users.authorities.is_any
                publisher.code = 500
                await until(lambda: publisher.asked > 3)
                publisher.code, publisher.data = 200, full().data
                await until(lambda: users.authorities.users == USERS.certificate)

    run(scenario())


def test_a_failure_that_goes_on_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        publisher = Publisher()
        publisher.code = 403
        async with (
            authorities(publisher, AuthenticationOptions()) as (kept, _),
            running(kept.keep_fresh(IMPATIENT)),
        ):
            await until(lambda: publisher.asked > 5)

    with caplog.at_level(logging.WARNING, "steersman.run.app"):
        run(scenario())
    assert len([message for message in caplog.messages if "cannot read trusted" in message]) == 1


def test_a_file_goes_before_the_cluster(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.write_bytes(PROXIES.certificate)

    async def scenario() -> None:
        options = AuthenticationOptions(client_ca_file=str(file), tolerate_lookup_failure=False)
        async with authorities(full(), options) as (kept, users):
            await kept.prepare()
            assert users.authorities.users == PROXIES.certificate
            assert users.authorities.proxy.allowed_names == ("front",)

    run(scenario())


def test_the_cluster_is_not_asked_if_that_is_not_wanted() -> None:
    async def scenario() -> None:
        publisher = full()
        options = AuthenticationOptions(skip_lookup=True, tolerate_lookup_failure=False)
        async with authorities(publisher, options) as (kept, users):
            await kept.prepare()
            assert (publisher.asked, users.authorities.is_any) == (0, False)

    run(scenario())


def test_a_failure_ends_the_start_only_if_it_is_not_tolerated() -> None:
    async def scenario() -> None:
        publisher = full()
        publisher.code = 403
        async with authorities(publisher, AuthenticationOptions(tolerate_lookup_failure=False)) as (kept, _):
            with pytest.raises(ApiError):
                await kept.prepare()
        async with authorities(publisher, AuthenticationOptions()) as (kept, _):
            await kept.prepare()

    run(scenario())


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    async def scenario() -> None:
        missing = AuthenticationOptions(client_ca_file=str(tmp_path / "missing"))
        async with authorities(Publisher(), missing) as (kept, _):
            with pytest.raises(InputError, match=r"missing: --client-ca-file: cannot be read"):
                await kept.prepare()

    run(scenario())


def test_a_list_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match=r"data\.requestheader-allowed-names"):
        published({"requestheader-allowed-names": "front"})


def test_published_bytes_that_are_no_certificate_leave_all_as_it_was() -> None:
    async def scenario() -> None:
        publisher = full()
        async with (
            authorities(publisher, AuthenticationOptions()) as (kept, users),
            running(kept.keep_fresh(IMPATIENT)),
        ):
            await until(lambda: users.authorities.users)
            publisher.data = {"client_ca_file": "nonsense"}
            asked = publisher.asked
            await until(lambda: publisher.asked > asked + 2)
            await asyncio.sleep(0)
            assert users.authorities.users == USERS.certificate

    run(scenario())


@pytest.mark.parametrize("body", [b"<html>", b'{"data": ' + b"[" * 5000, b'{"data": {"a": 5}}', b"\xff", b"", b"[]"])
def test_nonsense_in_place_of_the_config_map_is_reported(body: bytes) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=body)

    async def scenario() -> None:
        async with serve(answer) as address, http_transport(Connection(address)) as transport:
            await look_up(transport)

    with pytest.raises(UnreadableAnswer, match="extension-apiserver-authentication cannot be read"):
        run(scenario())
