# SPDX-License-Identifier: Apache-2.0
"""Work in the background that must not end the process: what fails is logged, counted and begun again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final

from steersman.client import Timing
from steersman.observe import Metrics

logger = logging.getLogger(__name__)

PAUSE_SECONDS: Final = 5.0


async def kept_going(
    name: str, work: Callable[[], Coroutine[Any, Any, None]], timing: Timing, metrics: Metrics
) -> None:
    """Until it is cancelled."""
    while True:
        try:
            await work()
        except Exception:
            metrics.background_failures[(name,)].inc()
            logger.exception("%s has failed and is begun again in %g seconds", name, PAUSE_SECONDS)
        await timing.sleep(PAUSE_SECONDS)
