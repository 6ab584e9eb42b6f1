# SPDX-License-Identifier: Apache-2.0
"""Many runs: a matrix of configurations, inputs, parameters and seeds, on all cores of this machine or on a Ray cluster.

`run` is the way in, and `steersman sweep` its command. `loading` reads the document, `matrix` lists the runs, `runs` is what a
worker does, `journal` remembers what is done, `tables` and `manifest` write it down. Where the runs happen makes no
difference to the numbers.
"""

from steersman.sweep.document import Sweep
from steersman.sweep.execution import SweepProgress, run
from steersman.sweep.loading import load_sweep
from steersman.sweep.result import CellSummary, SweepResult

__all__ = ["CellSummary", "Sweep", "SweepProgress", "SweepResult", "load_sweep", "run"]
