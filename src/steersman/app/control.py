# SPDX-License-Identifier: Apache-2.0
"""What may be asked of a running program from outside: by signals, or by whoever runs it in their own process."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Control:
    """Events that somebody else sets."""

    #: End, with everything in order.
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    #: Log cache and queue, and compare them with what the API server shows. Once for every time it is set.
    dump: asyncio.Event = field(default_factory=asyncio.Event)
