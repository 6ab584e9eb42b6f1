# SPDX-License-Identifier: Apache-2.0
"""Tokens and rights are reviewed by the clusters that flags name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from tests.app.running import ALONE, answer, cluster, free_port, running_program
from tests.client.serving import run, serve

from steersman.run.app import AuthenticationOptions, ServingOptions


class Reviewer:
    """Knows one token, whose owner may see metrics."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def answer(self, request: web.Request) -> web.Response:
        document: dict[str, Any] = await request.json()
        self.asked.append(document["kind"])
        if document["kind"] == "TokenReview":
            status = {"authenticated": document["spec"]["token"] == "secret", "user": {"username": "prometheus"}}
        else:
            status = {"allowed": document["spec"]["nonResourceAttributes"]["path"] == "/metrics"}
        return web.json_response({**document, "status": status}, status=201)


def kubeconfig(folder: Path, name: str, address: str) -> str:
    file = folder / name
    document = {
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "it"}}],
        "clusters": [{"name": "it", "cluster": {"server": address}}],
    }
    file.write_text(json.dumps(document))
    return str(file)


async def code(serving: ServingOptions, path: str, token: str) -> int:
    url = f"https://127.0.0.1:{serving.port}{path}"
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False), headers=headers) as session,
        session.get(url) as response,
    ):
        return response.status


def test_each_review_goes_to_its_own_cluster(tmp_path: Path) -> None:
    async def scenario() -> None:
        tokens, rights = Reviewer(), Reviewer()
        async with serve(tokens.answer) as tokens_at, serve(rights.answer) as rights_at:
            authentication = AuthenticationOptions(kubeconfig(tmp_path, "tokens", tokens_at), skip_lookup=True)
            serving = ServingOptions(
                "127.0.0.1",
                free_port(),
                authentication=authentication,
                authorization_kubeconfig=kubeconfig(tmp_path, "rights", rights_at),
            )
            async with running_program(cluster(), ALONE, serving):
                assert (await answer(serving, "/livez"))[0] == 200
                assert await code(serving, "/metrics", "secret") == 200
                assert await code(serving, "/configz", "secret") == 403
                assert await code(serving, "/metrics", "made-up") == 401
        assert tokens.asked == ["TokenReview"] * 2
        assert rights.asked == ["SubjectAccessReview"] * 2

    run(scenario())
