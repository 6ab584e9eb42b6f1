# SPDX-License-Identifier: Apache-2.0
"""Many runs: a matrix of configurations, inputs, parameters and seeds, on local cores or Ray.

`run` is the entry point, and `steersman sweep` its command. `document` has its fields and the
matrix of runs, `loading` reads it, `runs` executes them in workers, `journal` stores finished ones,
`result` and `manifest` write the results. The numbers do not depend on where the runs happen.
"""

from steersman.simulation.sweep.document import Sweep
from steersman.simulation.sweep.execution import SweepProgress, run
from steersman.simulation.sweep.loading import load_sweep
from steersman.simulation.sweep.result import CellSummary, SweepResult

__all__ = ["CellSummary", "Sweep", "SweepProgress", "SweepResult", "load_sweep", "run"]
