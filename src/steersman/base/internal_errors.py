# SPDX-License-Identifier: Apache-2.0
"""Internal errors that a running scheduler survives: logged with their traceback, counted by
component.

Every loop of `steersman run` catches exceptions per item: a pod, an object, a write. Simulations
and the library do not, so that internal errors surface immediately.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final

INTERNAL_ERROR: Final = "internal error: {}"
"""Message of a pod's condition, formatted with `describe`."""

logger = logging.getLogger(__name__)


class InternalErrors:
    """The internal errors survived so far."""

    def __init__(self) -> None:
        #: Number of errors by component, the label `where` of the metric.
        self.counts: Counter[str] = Counter()

    def survived(self, where: str, subject: str, error: BaseException) -> None:
        """Log and count an error. `subject` is the item in progress: "Pod default/web". A
        MemoryError is raised again."""
        if isinstance(error, MemoryError):
            raise error
        self.counts[where] += 1
        logger.error("internal error at %s of %s: %s", where, subject, describe(error), exc_info=error)


def describe(error: BaseException) -> str:
    """Return `TypeError: …` on one line; the type alone if the error cannot be formatted."""
    try:
        text = str(error)
    except Exception:
        return type(error).__name__
    return " ".join(f"{type(error).__name__}: {text}".splitlines())
