# SPDX-License-Identifier: Apache-2.0
"""A scheduler of a real cluster, put together: `steersman run`. The only place that knows all the parts.

    RunOptions ─► effective (configuration, gates, plugins) ─► run ─► exit code

`program` connects the parts and lives through start, leading and shutdown; `scheduling_loop` drives the scheduler,
`decision_lines` logs, `bindings` holds what is in flight, `signals` listens to the operating system. A thread of their own
(`control_thread`) have the lease (`leadership` is the bridge), the endpoints (`authorities`: to whom) and the watchdog of the
`heartbeat`. `supervision` begins again what fails.
"""

from steersman.app.authorities import AuthenticationOptions
from steersman.app.control import Control
from steersman.app.effective import Effective, effective
from steersman.app.run import main, run
from steersman.app.settings import ClientFlags, DebuggingFlags, ElectionFlags, RunOptions, ServingOptions

__all__ = [
    "AuthenticationOptions",
    "ClientFlags",
    "Control",
    "DebuggingFlags",
    "Effective",
    "ElectionFlags",
    "RunOptions",
    "ServingOptions",
    "effective",
    "main",
    "run",
]
