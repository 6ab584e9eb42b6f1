# SPDX-License-Identifier: Apache-2.0
"""Bodies that come through aiohttp, read up to a limit: an answer without an end must not fill the memory.

Used by `transport` for what goes through a proxy and for the refusals of streams, and by `extenders`. Deadlines are the
session's.
"""

from __future__ import annotations

import aiohttp

#: Sent along, and obeyed: sessions are made with `auto_decompress=False`, so that some kilobytes cannot become gigabytes.
UNCOMPRESSED = {"Accept-Encoding": "identity"}


class BodyTooLong(OSError):
    """The answer does not end where it should."""


async def read_body(response: aiohttp.ClientResponse, longest: int) -> bytes:
    """The whole body. BodyTooLong when there is more."""
    body = await read_start(response, longest + 1)
    if len(body) > longest:
        raise BodyTooLong(f"the answer has more than {longest} bytes")
    return body


async def read_start(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The first `most` bytes of the body, or all of it."""
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) >= most:
            break
    return bytes(body[:most])
