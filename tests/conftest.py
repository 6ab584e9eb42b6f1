# SPDX-License-Identifier: Apache-2.0
"""Hypothesis shows the same examples in every run, so that a test turns red only with a change.

`make properties` has four times as many; `STEERSMAN_RANDOM=1` looks for new ones, `STEERSMAN_EXAMPLES=20` for more.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings
from tests.equivalence.examples import USUAL, scaled

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=scaled(USUAL))
settings.register_profile("random", deadline=None, print_blob=True, max_examples=scaled(USUAL))
settings.load_profile("random" if os.environ.get("STEERSMAN_RANDOM") else "repeatable")

# A shell starts background jobs with SIGINT ignored, and programs that tests interrupt would inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def frozen_past() -> Iterator[None]:
    """Full collections of garbage look at what a test makes, and not at everything that the tests before it left."""
    gc.freeze()
    yield
    gc.unfreeze()
