# SPDX-License-Identifier: Apache-2.0
"""What may stand in a header of a request, by the rules of Go's HTTP client: nothing that could begin another header.

Kubeconfigs and token files are written by others. `kubeconfig_user` refuses what cannot be sent when it reads it, naming file
and field; `transport` looks again at whatever is about to be sent.
"""

from __future__ import annotations

import re
from typing import Final

_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
_TOKEN_BYTES: Final = frozenset(b"!#$&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

HOLDS_CONTROL: Final = "holds a line end or another control character, and cannot be sent in a header"


def is_header_value(value: str) -> bool:
    """Tabs are allowed, other control characters are not; the rest is sent as UTF-8."""
    return _CONTROL.search(value) is None


def escaped_header_key(key: str) -> str:
    """Part of a header's name, as client-go writes the keys of `as-user-extra`: bytes that a name must not have, and the
    percent sign, as `%2F`."""
    return "".join(chr(byte) if byte in _TOKEN_BYTES else f"%{byte:02X}" for byte in key.encode("utf-8", "replace"))
