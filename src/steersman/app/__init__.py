# SPDX-License-Identifier: Apache-2.0
"""A scheduler of a real cluster, put together: `steersman run`. The only place that knows all the parts.

    RunOptions ─► `settings.effective` (configuration, gates, plugins) ─► run ─► exit code

`program` connects the parts and lives through start, leading and shutdown, `host` drives the scheduler,
`log_lines` logs, `tasks` holds what is in flight, `process` has what concerns the operating system, signals among it. A
thread of their own (`control_thread`) have the lease, the endpoints (`authorities`: to whom) and the watchdog of `supervision`.
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
