# SPDX-License-Identifier: Apache-2.0
"""Records: the inputs and decisions of a scheduler on disk, for inspection and replay.

    simulation ─► simulation_recorder ─┐
    scheduler ─► recorded_ports, ports ─► scheduler_recorder ─► recorder ─► log ─► segments      items, frames, blocks, files

    segments ─► reader, expansion ─► history, moment
                                 ├─► recorded_run ─► replay                                      simulations
                                 └─► stimuli ─► scheduler_comparison, what_if ─► scheduler_replay ─► replay_loop

`items` defines what a recorder writes, `frames` what a reader returns, `steps` converts the calls
of a simulation to items and back, `comparison` defines the result of a replay. Scores are compared
through `scheduler.engine.totals_digest`. docs/record.md describes the format.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports
from steersman.record.history import history as history
from steersman.record.replay import replay as replay

__all__: list[str]
if TYPE_CHECKING:
    from steersman.record.comparison import (
        DecisionDifference as DecisionDifference,
        Differs as Differs,
        Replay as Replay,
    )
    from steersman.record.frames import (
        LIVE as LIVE,
        SANDBOX as SANDBOX,
        DecisionBody as DecisionBody,
        FrameKind as FrameKind,
        RunBody as RunBody,
    )
    from steersman.record.history import (
        History as History,
        HistoryEntry as HistoryEntry,
        decision_table as decision_table,
    )
    from steersman.record.moment import (
        KnownCluster as KnownCluster,
        simulation_at as simulation_at,
        with_decided_node as with_decided_node,
    )
    from steersman.record.reader import Problem as Problem, ProblemKind as ProblemKind, RecordReader as RecordReader
    from steersman.record.recorded_run import body_of as body_of, read_run as read_run, record_bounds as record_bounds
    from steersman.record.recorded_setup import run_body as run_body, simulation_setup as simulation_setup
    from steersman.record.recording import LiveRecording as LiveRecording
    from steersman.record.segments import Limits as Limits
    from steersman.record.simulation_recorder import record_simulation as record_simulation
    from steersman.record.steps import repeat as repeat
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "comparison": "DecisionDifference Differs Replay",
            "frames": "DecisionBody FrameKind LIVE RunBody SANDBOX",
            "history": "History HistoryEntry decision_table history",
            "moment": "KnownCluster simulation_at with_decided_node",
            "reader": "Problem ProblemKind RecordReader",
            "recorded_run": "body_of read_run record_bounds",
            "recorded_setup": "run_body simulation_setup",
            "recording": "LiveRecording",
            "replay": "replay",
            "segments": "Limits",
            "simulation_recorder": "record_simulation",
            "steps": "repeat",
        },
    )
