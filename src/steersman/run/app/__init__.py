# SPDX-License-Identifier: Apache-2.0
"""Scheduler of a real cluster, assembled from all parts: `steersman run`.

    RunOptions ─► `settings.effective` (configuration, gates, plugins) ─► run ─► exit code

`program` connects the parts and runs through start, leadership and shutdown, `log_lines` logs,
`process` handles operating system, background work and bindings. Lease, `endpoints` and watchdog
run in a thread of their own (`control_thread`, which also opens the connections).
"""

from steersman.base import lazy_exports
from steersman.run.app.run import run as run

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "process": "Control ENDING raise_open_files signals_handled",
        "run": "main run",
        "settings": (
            "AuthenticationOptions ClientFlags DebuggingFlags EffectiveSettings ElectionFlags "
            "RecordOptions RunOptions ServingOptions effective"
        ),
    },
)
