# SPDX-License-Identifier: Apache-2.0
"""Steersman: the Kubernetes scheduler as a Python package.

    import steersman

    sim = steersman.Simulation.load("cluster.json", config="sched.yaml", seed=1)
    result = sim.add("job.yaml").run()            # virtual time, deterministic
    result.placements["default/web-0"].node
    print(result.explain("default/web-1").table())  # every node × plugin

The names here are the public API; plugins build on `steersman.framework`, tests of plugins on `steersman.testing`. Everything
is imported when it is first used, so that `import steersman` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steersman.config import FeatureGates, SchedulerConfiguration
    from steersman.errors import InputError, SteersmanError
    from steersman.explain import Explanation
    from steersman.sim import (
        Difference,
        NextDecision,
        Placement,
        Preemption,
        Progress,
        Result,
        Series,
        Simulation,
        Summary,
        Utilisation,
        diff,
    )

_HOMES = {
    "Difference": "steersman.sim",
    "Explanation": "steersman.explain",
    "FeatureGates": "steersman.config",
    "InputError": "steersman.errors",
    "NextDecision": "steersman.sim",
    "Placement": "steersman.sim",
    "Preemption": "steersman.sim",
    "Progress": "steersman.sim",
    "Result": "steersman.sim",
    "SchedulerConfiguration": "steersman.config",
    "Series": "steersman.sim",
    "Simulation": "steersman.sim",
    "SteersmanError": "steersman.errors",
    "Summary": "steersman.sim",
    "Utilisation": "steersman.sim",
    "diff": "steersman.sim",
}

__all__ = [
    "Difference",
    "Explanation",
    "FeatureGates",
    "InputError",
    "NextDecision",
    "Placement",
    "Preemption",
    "Progress",
    "Result",
    "SchedulerConfiguration",
    "Series",
    "Simulation",
    "SteersmanError",
    "Summary",
    "Utilisation",
    "diff",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'steersman' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
