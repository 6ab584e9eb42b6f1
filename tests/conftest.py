# SPDX-License-Identifier: Apache-2.0
"""Hypothesis shows the same examples in every run, so that a test turns red only with a change.

`STEERSMAN_RANDOM=1 make test` looks for new ones; `STEERSMAN_EXAMPLES=20` for more.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile("random" if os.environ.get("STEERSMAN_RANDOM") else "repeatable")
