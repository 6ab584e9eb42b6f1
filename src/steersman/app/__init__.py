# SPDX-License-Identifier: Apache-2.0
"""A scheduler of a real cluster, put together: `steersman run`. The only place that knows all the parts.

    RunOptions ─► `settings.effective` (configuration, gates, plugins) ─► run ─► exit code

`program` connects the parts and lives through start, leading and shutdown, `host` drives the scheduler, `log_lines` logs,
`process` has what concerns the operating system, keeps work going and holds what is in flight. The lease, the `endpoints` and
the watchdog have a thread of their own (`control_thread`, which also opens the connections of both loops).
"""

from steersman.app.process import Control
from steersman.app.run import main, run
from steersman.app.settings import (
    AuthenticationOptions,
    ClientFlags,
    DebuggingFlags,
    Effective,
    ElectionFlags,
    RecordOptions,
    RunOptions,
    ServingOptions,
    effective,
)

__all__ = [
    "AuthenticationOptions",
    "ClientFlags",
    "Control",
    "DebuggingFlags",
    "Effective",
    "ElectionFlags",
    "RecordOptions",
    "RunOptions",
    "ServingOptions",
    "effective",
    "main",
    "run",
]
