# SPDX-License-Identifier: Apache-2.0
"""Requests and responses without HTTP; `server` converts between the two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from steersman.cluster.apiserver.media_types import JSON
from steersman.cluster.apiserver.reviews import TokenUser
from steersman.cluster.apiserver.watches import WatchStream


class ApiRequest(msgspec.Struct, frozen=True):
    """Request of a client. Header names are lower-case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    user: TokenUser

    def header(self, name: str) -> str:
        return self.headers.get(name, "")


class ApiAnswer(msgspec.Struct, frozen=True):
    """Complete response. A slow body is a function to call outside the event loop."""

    code: int
    body: bytes | Callable[[], bytes]
    content_type: str = JSON
    headers: Mapping[str, str] = {}
    warnings: Sequence[str] = ()

    def content(self) -> bytes:
        """Return the body, encoding it if needed."""
        return self.body if isinstance(self.body, bytes) else self.body()


class WatchAnswer(msgspec.Struct, frozen=True):
    """Response that is streamed until the watch ends."""

    stream: WatchStream
    content_type: str = JSON
