# SPDX-License-Identifier: Apache-2.0
"""Records: everything that a scheduler was told and did, on disk, to be looked at and decided again.

    simulation ─► simulation_recorder ─► log ─► segments            frames, in blocks, in files
    live scheduler ─► live_ports ─► live_recorder ─► live_log ─► segments
    segments ─► reader ─► recorded_run ─► replay, history, moment
                   └────► live_comparison ─► live_replay ─► replay_loop

`frames` has what a record is made of, `steps` what is done to a simulation as frames; frames of many things are in `live_items`
(stimuli), `placed` (replicas) and `given_objects`. `engine.totals_digest` says how scores are compared.
docs/record.md describes the format.
"""

from steersman.record.comparison import DecisionDifference, Differs, Replay
from steersman.record.extraction import Extracted, extract
from steersman.record.history import History, HistoryEntry, decision_table, history
from steersman.record.moment import simulation_at
from steersman.record.reader import Problem, ProblemKind, RecordReader
from steersman.record.replay import replay
from steersman.record.segments import Limits
from steersman.record.simulation_recorder import record_simulation

__all__ = [
    "DecisionDifference",
    "Differs",
    "Extracted",
    "History",
    "HistoryEntry",
    "Limits",
    "Problem",
    "ProblemKind",
    "RecordReader",
    "Replay",
    "decision_table",
    "extract",
    "history",
    "record_simulation",
    "replay",
    "simulation_at",
]
