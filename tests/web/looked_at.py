# SPDX-License-Identifier: Apache-2.0
"""A scheduler on an embedded cluster, and the API of its page, asked without a network."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from steersman.kube.serving import ask_here
from steersman.kube.serving.http import Answer, HeaderFields, Request
from steersman.sandbox.web import ClusterFeed, ClusterSource, EventRows, WebApi, WebHost, observed
from steersman.testing import Harness


class LookedAt:
    """A harness with the page of its scheduler."""

    def __init__(self, harness: Harness, **more: Any) -> None:
        self.harness = harness
        decisions, attempts = observed(harness.scheduler)
        self.events = EventRows()
        self.host = WebHost("sandbox", harness.scheduler, decisions, attempts, self.events, **more)
        self.source = ClusterSource(harness.scheduler, attempts, self.events)
        self.feed = ClusterFeed(self.source, ask_here, tick_seconds=0.0)
        self.api = WebApi(self.host, self.feed)

    def answer(self, path: str, method: str = "GET", body: bytes = b"") -> Answer:
        return asyncio.run(self.answered(path, method, body))

    async def answered(self, path: str, method: str = "GET", body: bytes = b"") -> Answer:
        return await self.api.answer(request(f"/web/v1/{path}", method, body))

    def get(self, path: str) -> Any:
        """The document of an answer that is one."""
        answer = self.answer(path)
        assert answer.status == 200, answer.body
        return msgspec.json.decode(answer.body)


def request(path: str, method: str = "GET", body: bytes = b"", headers: Mapping[str, str] | None = None) -> Request:
    path, _, query = path.partition("?")
    fields = HeaderFields((headers or {}).items())
    return Request(method, path, tuple(parse_qsl(query, keep_blank_values=True)), fields, body=body)
