# SPDX-License-Identifier: Apache-2.0
"""The one place that decodes JSON which others wrote: API servers, extenders, issuers of tokens, credential programs.

Whatever is wrong with it (no JSON, no UTF-8, another type, numbers without end, nested without end) is one error,
`UnreadableAnswer`. It is a `ClientError`: whoever asks a server is prepared for that one. How much may arrive is bounded
before, by whoever reads the bytes (`http_answers`, `bounded_bodies`). Objects that lists and watches bring are `list_watch`'s.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from steersman.api import codec
from steersman.client.errors import UnreadableAnswer
from steersman.errors import InputError

T = TypeVar("T")

UNREADABLE = "{what} cannot be read: {reason}"
TOO_DEEP = "it is nested too deeply"


def decode_foreign(data: bytes | msgspec.Raw, cls: type[T], what: str) -> T:
    """JSON → typed, `null` being as good as nothing. `what` names the data in the error, which never shows a value: it
    may be a secret."""
    try:
        return codec.decode(data, cls)
    except InputError as cause:
        cause.value = None
        raise _unreadable(what, str(cause)) from cause
    except RecursionError as cause:
        raise _unreadable(what, TOO_DEEP) from cause
    except (msgspec.MsgspecError, ValueError, OverflowError) as cause:
        raise _unreadable(what, str(cause)) from cause


def _unreadable(what: str, reason: str) -> UnreadableAnswer:
    return UnreadableAnswer(UNREADABLE.format(what=what, reason=reason))
