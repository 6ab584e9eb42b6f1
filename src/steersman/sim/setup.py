# SPDX-License-Identifier: Apache-2.0
"""The setup of a simulation: how it was made, in one value, and how callers of the library say so.

`Simulation.load` gives its arguments to `loaded`, which reads configuration, plugins, policy and objects. A `SimulationSetup`
makes the same simulation again: for forks, pickles and records.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any, BinaryIO, Final, NamedTuple, TypeAlias

import msgspec

from steersman import config
from steersman.api.field_check import Validation
from steersman.api.text_files import read_text
from steersman.assembly import SchedulerOptions
from steersman.assembly.registry import PluginSource, kinds_of_scheduler, register, with_enabled
from steersman.config import FeatureGates, SchedulerConfiguration, refuse_unsupported
from steersman.errors import InputError
from steersman.kubelets import KubeletPolicy, PolicySource, load_policy
from steersman.sim import sources
from steersman.sim.extenders import real_time_extenders
from steersman.sim.sources import Gathered, Source

START: Final = 1_767_225_600.0
"""2026-01-01T00:00:00Z: the time of clusters that do not say when they are."""

Configuration: TypeAlias = "str | PathLike[str] | Mapping[str, Any] | SchedulerConfiguration | None"
"""A file with a KubeSchedulerConfiguration, the document as a dict, or one that is already loaded; None: the default one."""


class SimulationSetup(NamedTuple):
    """How a simulation was made: everything but what was done to it afterwards, which is in its journal."""

    options: SchedulerOptions
    seed: int
    #: What the cluster's clock shows at the start, as Unix time.
    start: float
    kubelets: KubeletPolicy
    controllers: bool


def loaded(
    source: Sequence[Source],
    *,
    config: Configuration,
    seed: int,
    plugins: Iterable[PluginSource],
    gates: FeatureGates | Mapping[str, bool] | None,
    stdin: BinaryIO | None,
    validate: Validation,
    controllers: bool,
    kubelets: PolicySource,
    extenders: bool,
) -> tuple[SimulationSetup, Gathered]:
    """The setup that the arguments of `Simulation.load` ask for, and the objects that they name."""
    chosen = gates if isinstance(gates, FeatureGates) else FeatureGates(gates)
    refuse_unsupported(chosen)
    registry, names = register(plugins)
    enabled = with_enabled(load_configuration(config, chosen), names)
    asked = real_time_extenders(enabled) if extenders else ()
    options = SchedulerOptions(enabled, chosen, registry, asked)
    kinds = kinds_of_scheduler(enabled, chosen, registry)
    gathered = sources.gather(source, stdin, (*kinds.watched, *kinds.read), validate)
    moment = sources.latest_moment([given.object for given in gathered.objects])
    policy = load_policy(kubelets)
    policy = msgspec.structs.replace(policy, seed=policy.seed or seed)
    began = START if moment is None else float(int(moment))
    return SimulationSetup(options, seed, began, policy, controllers), gathered


def load_configuration(given: Configuration, gates: FeatureGates) -> SchedulerConfiguration:
    """The configuration, read, defaulted and validated. Raises `InputError` and `ConfigError`."""
    if given is None:
        return config.default_configuration(gates)
    if isinstance(given, SchedulerConfiguration):
        config.validate(given, gates)
        return given
    if isinstance(given, Mapping):
        return config.load(_json(given), gates=gates)
    path = fspath(given)
    return config.load(read_text(path), path, gates)


def _json(document: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(document))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"is no document of plain values: {error}", object="configuration") from error
