# SPDX-License-Identifier: Apache-2.0
"""Programming errors that a running scheduler survives: logged with their traceback, counted by place.

Every loop of `steersman run` guards its items with one of these: a pod, an object, a write. Simulations and the library have
none, so that a programming error is seen at once.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final

INTERNAL_ERROR: Final = "internal error: {}"
"""The text of the condition of a pod, with `describe`."""

logger = logging.getLogger(__name__)


class InternalErrors:
    """The programming errors that were survived so far."""

    def __init__(self) -> None:
        #: By place, the label `where` of the metric.
        self.counts: Counter[str] = Counter()

    def survived(self, where: str, subject: str, error: Exception) -> None:
        """`subject` is what was being worked on: "Pod default/web". Out of memory is not survived."""
        if isinstance(error, MemoryError):
            raise error
        self.counts[where] += 1
        logger.error("internal error at %s of %s: %s", where, subject, describe(error), exc_info=error)


def describe(error: Exception) -> str:
    """`TypeError: …`, on one line; the type alone of an error that cannot be told."""
    try:
        text = str(error)
    except Exception:
        return type(error).__name__
    return " ".join(f"{type(error).__name__}: {text}".splitlines())
