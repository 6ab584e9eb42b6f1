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

from steersman.base import install as _accept_old_import_paths

if TYPE_CHECKING:
    from steersman.base import InputError, SteersmanError
    from steersman.config import FeatureGates, SchedulerConfiguration
    from steersman.scheduler.diagnosis import Explanation
    from steersman.simulation import (
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

    __version__: str

_HOMES = {
    "Difference": "steersman.simulation",
    "Explanation": "steersman.scheduler.diagnosis",
    "FeatureGates": "steersman.config",
    "InputError": "steersman.base.errors",
    "NextDecision": "steersman.simulation",
    "Placement": "steersman.simulation",
    "Preemption": "steersman.simulation",
    "Progress": "steersman.simulation",
    "Result": "steersman.simulation",
    "SchedulerConfiguration": "steersman.config",
    "Series": "steersman.simulation",
    "Simulation": "steersman.simulation",
    "SteersmanError": "steersman.base.errors",
    "Summary": "steersman.simulation",
    "Utilisation": "steersman.simulation",
    "diff": "steersman.simulation",
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


_accept_old_import_paths()


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("steersman.base.build_info").steersman_version()
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'steersman' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
