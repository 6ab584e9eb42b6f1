# SPDX-License-Identifier: Apache-2.0
"""Identity tokens that are renewed."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.client.kubeconfigs import kubeconfig
from tests.client.serving import run, serve

from steersman.base.clock import ManualClock
from steersman.base.timing import Timing
from steersman.kube.client.auth.exec_plugin import CredentialError
from steersman.kube.client.kubeconfig import ClusterChoice, connect


def test_a_token_that_expires_is_renewed(tmp_path: Path) -> None:
    issuer = Issuer()

    async def scenario() -> list[str]:
        async with serve(issuer.app()) as issuer.address:
            config = issuer.config(**{"id-token": _token(100), "refresh-token": "r-1"})
            clock = ManualClock(50)
            file = kubeconfig(tmp_path, user={"auth-provider": {"name": "oidc", "config": config}})
            credentials = connect(ClusterChoice(str(file)), {}, Timing(clock)).connection.credentials
            seen = []
            for now in (50, 95, 96, 195):
                clock.set(now)
                seen.append((await credentials.current()).headers[0][1])
            return seen

    first, second, third, fourth = run(scenario())
    assert (first, second, fourth) == (f"Bearer {_token(100)}", f"Bearer {_token(200)}", f"Bearer {_token(300)}")
    assert third == second
    assert [form["refresh_token"] for form in issuer.forms] == ["r-1", "r-2"]


def test_without_a_refresh_token_the_end_is_reported(tmp_path: Path) -> None:
    config = Issuer().config(**{"id-token": _token(100)})
    file = kubeconfig(tmp_path, user={"auth-provider": {"name": "oidc", "config": config}})
    credentials = connect(ClusterChoice(str(file)), {}, Timing(ManualClock(200))).connection.credentials
    with pytest.raises(CredentialError, match="has expired and there is no refresh token"):
        run(credentials.current())


class Issuer:
    """An identity provider whose tokens end at 200, 300, 400, …"""

    def __init__(self) -> None:
        self.address = "http://127.0.0.1:1"
        self.forms: list[dict[str, Any]] = []

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/.well-known/openid-configuration", self._discovery)
        app.router.add_post("/token", self._renew)
        return app

    def config(self, **more: str) -> dict[str, str]:
        return {"idp-issuer-url": self.address, "client-id": "steersman", "client-secret": "s", **more}

    async def _discovery(self, _: web.Request) -> web.Response:
        return web.json_response({"token_endpoint": f"{self.address}/token"})

    async def _renew(self, request: web.Request) -> web.Response:
        self.forms.append(dict(await request.post()))
        count = len(self.forms)
        return web.json_response({"id_token": _token(100 + 100 * count), "refresh_token": f"r-{count + 1}"})


def _token(expires: int) -> str:
    payload = base64.urlsafe_b64encode(json.dumps({"exp": expires}).encode()).decode().rstrip("=")
    return f"head.{payload}.signature"
