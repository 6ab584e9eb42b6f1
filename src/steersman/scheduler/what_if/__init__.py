# SPDX-License-Identifier: Apache-2.0
"""A scheduler without I/O for what-if questions: it gets objects, evaluates pods and decides, and
writes nothing.

Read `what_if_scheduler`. `discarding_writer` replaces the API server. May import everything in
`scheduler` except `diagnosis` and `host`.
"""

from steersman.scheduler.what_if.discarding_writer import DiscardingWriter
from steersman.scheduler.what_if.what_if_scheduler import WhatIfScheduler, isolated_scheduler

__all__ = ["DiscardingWriter", "WhatIfScheduler", "isolated_scheduler"]
