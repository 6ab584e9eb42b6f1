# SPDX-License-Identifier: Apache-2.0
"""What may go wrong with the API server of the tests, switched on by them.

server.faults.refuse(429, retry_after=1, method="POST", times=2)
server.faults.lose_answers = 1           # acts, then cuts the connection
server.faults.cut_watches()              # in the middle of a line
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from steersman import api


@dataclass
class Refusal:
    """An answer that comes instead of the true one, so many times."""

    code: int
    times: int
    method: str = ""
    part_of_path: str = ""
    reason: str = ""
    message: str = "a fault"
    retry_after: int | None = None

    def concerns(self, request: web.Request) -> bool:
        return self.method in ("", request.method) and self.part_of_path in request.path_qs and self.times > 0


class Channel:
    """An open watch."""

    def __init__(self, request: web.Request) -> None:
        self._request = request

    async def send(self, response: web.StreamResponse, line: bytes) -> None:
        await response.write(line)

    def cut(self) -> None:
        transport = self._request.transport
        if transport is not None:
            begun = b'{"type":"ADDED","object":{"metadata":{"na'
            transport.write(b"%x\r\n%s\r\n" % (len(begun), begun))
            transport.close()


@dataclass
class Faults:
    """Everything is well unless said otherwise."""

    refusals: list[Refusal] = field(default_factory=list)
    #: Kinds that the server does not know.
    missing: set[type[api.Object]] = field(default_factory=set)
    #: So many pages after the first are refused with 410.
    expire_continues: int = 0
    #: So many writes are done, and their answers lost.
    lose_answers: int = 0
    #: Requests wait until this is set again.
    flowing: asyncio.Event = field(default_factory=asyncio.Event)
    watches: list[Channel] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.flowing.set()

    def refuse(self, code: int, *, times: int = 1, **more: Any) -> None:
        self.refusals.append(Refusal(code, times, **more))

    def cut_watches(self) -> None:
        for channel in self.watches:
            channel.cut()

    def take(self, switch: str) -> bool:
        """Uses up one of the faults that are counted."""
        left: int = getattr(self, switch)
        setattr(self, switch, max(left - 1, 0))
        return left > 0

    # -- for the server ----------------------------------------------------------------------------------------------

    async def before(self, request: web.Request) -> web.Response | None:
        await self.flowing.wait()
        for refusal in self.refusals:
            if refusal.concerns(request):
                refusal.times -= 1
                headers = {} if refusal.retry_after is None else {"Retry-After": str(refusal.retry_after)}
                body = {"kind": "Status", "code": refusal.code, "reason": refusal.reason, "message": refusal.message}
                return web.json_response(body, status=refusal.code, headers=headers)
        return None

    def after(self, request: web.Request) -> None:
        if request.method != "GET" and self.take("lose_answers") and request.transport is not None:
            request.transport.close()

    def opened(self, request: web.Request) -> Channel:
        channel = Channel(request)
        self.watches.append(channel)
        return channel

    def closed(self, channel: Channel) -> None:
        self.watches.remove(channel)
