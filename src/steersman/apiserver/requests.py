# SPDX-License-Identifier: Apache-2.0
"""A request and its answer, without the network around them: `server` makes the one from HTTP and writes the other back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from steersman.apiserver.media_types import JSON
from steersman.apiserver.reviews import TokenUser
from steersman.apiserver.watches import WatchStream


class ApiRequest(msgspec.Struct, frozen=True):
    """A request of a client. `headers` by lower-case name."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    user: TokenUser

    def header(self, name: str) -> str:
        return self.headers.get(name, "")


class ApiAnswer(msgspec.Struct, frozen=True):
    """A whole answer. A body in pieces is written piece by piece."""

    code: int
    body: bytes | Sequence[bytes]
    content_type: str = JSON
    headers: Mapping[str, str] = {}
    warnings: Sequence[str] = ()


class WatchAnswer(msgspec.Struct, frozen=True):
    """An answer that goes on until the watch ends."""

    stream: WatchStream
    content_type: str = JSON
