# SPDX-License-Identifier: Apache-2.0
"""How a scheduler was made, on its way into a record and back: configuration, gates and plugins, or those of other files."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import msgspec

from steersman import config
from steersman.assembly import SchedulerOptions
from steersman.assembly.registry import PluginSource, register, with_enabled
from steersman.build_info import KUBE_SCHEDULER_VERSION, steersman_version
from steersman.config import EffectiveProfile, FeatureGates, SchedulerConfiguration
from steersman.errors import InputError
from steersman.kubelets import load_policy
from steersman.record.frames import PluginFile, RunBody
from steersman.runtime.capabilities import capabilities_of
from steersman.runtime.registry import Registry
from steersman.sim import SimulationSetup


def run_body(
    host: str,
    configuration: SchedulerConfiguration,
    gates: FeatureGates,
    registry: Registry,
    seed: int,
    start: float,
) -> RunBody:
    """How a scheduler was made."""
    profiles = config.build(configuration, capabilities_of(registry), gates).profiles
    return RunBody(
        host,
        steersman_version(),
        KUBE_SCHEDULER_VERSION,
        seed,
        start,
        config.to_document(configuration),
        gates.changed(),
        tuple(PluginFile(file, file_digest(file)) for file in registry.files),
        {profile.scheduler_name: _plugins(profile) for profile in profiles},
    )


def _plugins(profile: EffectiveProfile) -> tuple[str, ...]:
    return tuple(sorted({name for point in profile.plugins for name in profile.at(point)}))


def file_digest(file: str) -> str:
    """Of a plugin's file; "" if it cannot be read."""
    try:
        return blake2b(Path(file).read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return ""


# -- and back ----------------------------------------------------------------------------------------------------------


def simulation_setup(
    run: RunBody, configuration: str | None = None, plugins: tuple[PluginSource, ...] = ()
) -> SimulationSetup:
    """How to make the simulation that was recorded; or one with the configuration of another file, or with more plugins."""
    options = scheduler_options(run, configuration, plugins)
    return SimulationSetup(options, run.seed, run.start, load_policy(run.kubelets), run.controllers)


def scheduler_options(
    run: RunBody, configuration: str | None = None, plugins: tuple[PluginSource, ...] = ()
) -> SchedulerOptions:
    """What the recorded scheduler was made with. Raises `InputError`, `ConfigError` and `PluginError`."""
    gates = FeatureGates(run.gates)
    missing = [known.file for known in run.plugin_files if not Path(known.file).is_file()]
    if missing:
        raise InputError("is not there any more, and the record needs its plugins", file=missing[0])
    registry, names = register((*(known.file for known in run.plugin_files), *plugins))
    chosen = _recorded_configuration(run, gates) if configuration is None else _load(configuration, gates)
    return SchedulerOptions(with_enabled(chosen, names), gates, registry)


def _recorded_configuration(run: RunBody, gates: FeatureGates) -> SchedulerConfiguration:
    return config.load(msgspec.json.encode(run.configuration).decode(), "the record's configuration", gates)


def _load(path: str, gates: FeatureGates) -> SchedulerConfiguration:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from error
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8 text", file=path) from error
    return config.load(text, path, gates)
