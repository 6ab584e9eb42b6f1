# SPDX-License-Identifier: Apache-2.0
"""Records: the inputs and decisions of a scheduler on disk, for inspection and replay.

    simulation ─► simulation_recorder ─┐
    scheduler ─► recording, ports ─► scheduler_recorder ─► recorder ─► log ─► segments      items, frames, blocks, files

    segments ─► reader, expansion ─► history, moment
                                 ├─► recorded_run ─► replay                                      simulations
                                 └─► scheduler_comparison, what_if ─► scheduler_replay ─► replay_loop

`items` defines what a recorder writes, `frames` what a reader returns, `comparison` the result of a
replay. Scores are compared through `scheduler.engine.totals_digest`. docs/record.md describes the
format.
"""

from steersman.base import lazy_exports
from steersman.record.history import history as history
from steersman.record.replay import replay as replay

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "comparison": "DecisionDifference Differs Replay",
        "frames": "DecisionBody FrameKind LIVE RunBody SANDBOX",
        "history": "History HistoryEntry decision_table history",
        "moment": "KnownCluster simulation_at with_decided_node",
        "reader": "Problem ProblemKind RecordReader",
        "recorded_run": "body_of read_run record_bounds run_body simulation_setup",
        "recording": "LiveRecording",
        "replay": "replay",
        "segments": "Limits",
        "simulation_recorder": "record_simulation repeat",
    },
)
