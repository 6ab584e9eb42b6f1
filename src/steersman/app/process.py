# SPDX-License-Identifier: Apache-2.0
"""The process of a running scheduler: its event loop, how many files it may open, and signals.

`run` sets all of it up; `Control` is what may be asked of a running program from outside, by signals or by whoever runs it in
their own process.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import msgspec

logger = logging.getLogger(__name__)

ENDING: Final = (signal.SIGTERM, signal.SIGINT)


# -- event loop --------------------------------------------------------------------------------------------------------


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's where there is one, which does TLS at half the cost."""
    try:
        uvloop = importlib.import_module("uvloop")
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


# -- open files --------------------------------------------------------------------------------------------------------


def raise_open_files() -> None:
    """Lets the process have as many files and connections open as it may ever have, as Go's programs do at their start.

    RLIMIT_NOFILE, soft to hard: the soft limit, often 1,024, is for programs that use select(); the hard one is the operator's.
    Where that is not possible it stays as it is.
    """
    try:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ImportError, OSError, ValueError) as failure:
        logger.info("the number of open files stays limited: %s", failure)


# -- control from outside ----------------------------------------------------------------------------------------------


class Control(msgspec.Struct, frozen=True):
    """Events that somebody outside of the program sets. SIGTERM and SIGINT ask for the end, SIGUSR2 for a dump."""

    #: End, with everything in order.
    stop: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    #: Log cache and queue, and compare them with what the API server shows. Once for every time it is set.
    dump: asyncio.Event = msgspec.field(default_factory=asyncio.Event)


@contextmanager
def signals_handled(handlers: Mapping[signal.Signals, Callable[[], object]]) -> Iterator[None]:
    """Signals call their handlers in the running event loop, until the end of the block."""
    loop = asyncio.get_running_loop()
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)
