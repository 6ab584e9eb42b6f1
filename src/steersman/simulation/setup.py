# SPDX-License-Identifier: Apache-2.0
"""The setup of a simulation as one value, and its construction from the arguments of `load`.

`Simulation.load` passes its arguments to `loaded`, which reads configuration, plugins, policy and
objects. A `SimulationSetup` reproduces the simulation for forks, pickles and records.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any, BinaryIO, Final, NamedTuple, TypeAlias

import msgspec

from steersman import config
from steersman.api import Validation, read_text
from steersman.base import InputError, ManualClock
from steersman.cluster.kubelets import DEFAULT_POLICY, KubeletPolicy, PolicySource, load_policy
from steersman.config import FeatureGates, SchedulerConfiguration, parse_version, refuse_unsupported
from steersman.scheduler.assembly import PluginSource, SchedulerOptions, kinds_of_scheduler, register, with_enabled
from steersman.scheduler.runtime import Registry, check_args
from steersman.scheduler.what_if import isolated_scheduler
from steersman.simulation.inputs import sources
from steersman.simulation.inputs.sources import Gathered, Source
from steersman.simulation.virtual_time.extenders import real_time_extenders

START: Final = 1_767_225_600.0
"""2026-01-01T00:00:00Z: the default start time, for clusters without timestamps."""

Configuration: TypeAlias = "str | PathLike[str] | Mapping[str, Any] | SchedulerConfiguration | None"
"""A file with a KubeSchedulerConfiguration, the document, a loaded one, or None for the default."""


class SimulationSetup(NamedTuple):
    """Setup of a simulation; later changes are in its journal."""

    options: SchedulerOptions
    seed: int = 0
    #: Unix time of the cluster's clock at the start.
    start: float = START
    kubelets: KubeletPolicy = DEFAULT_POLICY
    controllers: bool = True


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
    """Return the setup and the objects for the arguments of `Simulation.load`."""
    chosen = with_version(gates, "")
    refuse_unsupported(chosen)
    registry, names = register(plugins)
    enabled = with_enabled(load_configuration(config, chosen), names)
    called = real_time_extenders(enabled) if extenders else ()
    options = SchedulerOptions(enabled, chosen, registry, called)
    check_args(enabled, registry, fspath(config) if isinstance(config, str | PathLike) else None)
    gathered = sources.gather(source, stdin, kinds_of_scheduler(enabled, chosen, registry).known, validate)
    moment = sources.latest_moment([given.object for given in gathered.objects])
    policy = load_policy(kubelets)
    policy = msgspec.structs.replace(policy, seed=policy.seed or seed)
    began = START if moment is None else float(int(moment))
    return SimulationSetup(options, seed, began, policy, controllers), gathered


def with_version(gates: FeatureGates | Mapping[str, bool] | None, version: str) -> FeatureGates:
    """Return the gates in an emulated version, which `FeatureGates` have. Raises `InputError`."""
    if not isinstance(gates, FeatureGates):
        return FeatureGates(gates, version)
    if version and parse_version(version) != gates.version:
        raise InputError(f"is {version}, but the feature gates are those of {gates.version}", field="emulated_version")
    return gates


def check_until(until: float | None) -> None:
    """Raise `InputError` unless `until` is None or a number of seconds that is not negative."""
    if until is not None and not 0 <= until < math.inf:
        raise InputError("is not a time", field="until", value=until, hint="write seconds since the start, 0 or more")


def load_configuration(given: Configuration, gates: FeatureGates) -> SchedulerConfiguration:
    """Return the configuration, defaulted and validated. Raises `InputError` and `ConfigError`."""
    if given is None:
        return config.default_configuration(gates)
    if isinstance(given, SchedulerConfiguration):
        config.validate(given, gates)
        return given
    if isinstance(given, Mapping):
        return config.load(_json(given), gates=gates)
    path = fspath(given)
    return config.load(read_text(path), path, gates)


def check_plugins(configuration: SchedulerConfiguration, gates: FeatureGates, registry: Registry) -> None:
    """Create all plugins of the configuration and its profiles like a host. Raises `PluginError`
    for the first invalid one: arguments, a missing method, an impossible event."""
    isolated_scheduler(SchedulerOptions(configuration, gates, registry), ManualClock())


def _json(document: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(document))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"is not a document of plain values: {error}", object="configuration") from error
