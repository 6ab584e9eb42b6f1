# SPDX-License-Identifier: Apache-2.0
"""Signals of the operating system: SIGTERM and SIGINT ask for the end, SIGUSR2 for a dump."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

ENDING: Final = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def handled(handlers: Mapping[signal.Signals, Callable[[], object]]) -> Iterator[None]:
    """In the running event loop, until the end of the block."""
    loop = asyncio.get_running_loop()
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)
