# SPDX-License-Identifier: Apache-2.0
"""Steersman: the Kubernetes scheduler as a Python package.

    import steersman

    sim = steersman.Simulation.load("cluster.json", config="sched.yaml", seed=1)
    result = sim.add("job.yaml").run()            # virtual time, deterministic
    result.placements["default/web-0"].node
    print(result.explain("default/web-1").table())  # every node × plugin

The names here are the public API; plugins build on `steersman.framework`, tests of plugins on
`steersman.testing`. Everything is imported when it is first used, so that `import steersman` costs
nothing.
"""

from steersman.base import install as _accept_old_import_paths, lazy_exports

_exported, _names, __all__ = lazy_exports(
    __name__,
    {
        "base": "InputError SteersmanError",
        "config": "FeatureGates SchedulerConfiguration",
        "scheduler.diagnosis": "Explanation",
        "simulation": (
            "Difference NextDecision Placement Preemption Progress Result Series Simulation Summary Utilisation diff"
        ),
    },
)
_accept_old_import_paths()


def __getattr__(name: str) -> object:
    if name == "__version__":
        from steersman.base import steersman_version

        return steersman_version()
    return _exported(name)


def __dir__() -> list[str]:
    return [*_names(), "__version__"]
