# SPDX-License-Identifier: Apache-2.0
"""How a scheduler was made, on its way into a record and back: configuration, gates and plugins, or those of other files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from steersman import config
from steersman.assembly import SchedulerOptions
from steersman.assembly.registry import PluginSource, register, with_enabled
from steersman.binding.cycle import BINDINGS_AT_ONCE
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
        bindings_at_once=BINDINGS_AT_ONCE,
        has_exact_digests=True,
    )


def _plugins(profile: EffectiveProfile) -> tuple[str, ...]:
    return tuple(sorted({name for point in profile.plugins for name in profile.at(point)}))


def file_digest(file: str) -> str:
    """The digest of a plugin's file; "" if it cannot be read."""
    try:
        return blake2b(Path(file).read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return ""


# -- and back ----------------------------------------------------------------------------------------------------------

NOT_TRUSTED: Final = "is a file with plugins that the record names, and would be run"
TRUST_HINT: Final = "--plugin FILE if you know it, --trust-record-plugins if you know where the record comes from"


class PluginConsent:
    """The plugin files that may be run for a record, which is data and may come from anybody: those that the user names, or all
    that the record does."""

    def __init__(
        self, plugins: Iterable[PluginSource] = (), *, trusts_record: bool = False, adds_others: bool = False
    ) -> None:
        """`adds_others`: what the user names, and the record does not, takes part as well."""
        self._plugins = tuple(plugins)
        self._trusts_record = trusts_record
        self._adds_others = adds_others

    def sources(self, run: RunBody) -> tuple[PluginSource, ...]:
        """The plugins of the recorded scheduler, and more. Raises `InputError` for a file that may not be run, or is gone."""
        return (*(self._allowed(known) for known in run.plugin_files), *self.others(run))

    def others(self, run: RunBody) -> tuple[PluginSource, ...]:
        """The plugins that take part, and did not in the recorded scheduler."""
        recorded = {self._named(known) for known in run.plugin_files}
        return tuple(source for source in self._plugins if self._adds_others and source not in recorded)

    def _allowed(self, known: PluginFile) -> PluginSource:
        named = self._named(known)
        if named is None and not self._trusts_record:
            raise InputError(NOT_TRUSTED, file=known.file, hint=TRUST_HINT)
        file = known.file if named is None else named
        if not isinstance(file, type) and not Path(file).is_file():
            raise InputError("is not there any more, and the record needs its plugins", file=str(file))
        return file

    def _named(self, known: PluginFile) -> PluginSource | None:
        """The file as the user names it: the same path, or the same content where the record is of another machine."""
        files = [source for source in self._plugins if not isinstance(source, type)]
        path = os.path.realpath(known.file)
        same_path = (file for file in files if os.path.realpath(file) == path)
        same_content = (file for file in files if known.digest and file_digest(os.fspath(file)) == known.digest)
        return next(same_path, None) or next(same_content, None)


NO_CONSENT: Final = PluginConsent()


def simulation_setup(
    run: RunBody, configuration: str | None = None, plugins: PluginConsent = NO_CONSENT
) -> SimulationSetup:
    """How to make the simulation that was recorded; or one with the configuration of another file, or with more plugins."""
    options = scheduler_options(run, configuration, plugins)
    return SimulationSetup(options, run.seed, run.start, load_policy(run.kubelets), run.controllers)


def scheduler_options(
    run: RunBody, configuration: str | None = None, plugins: PluginConsent = NO_CONSENT
) -> SchedulerOptions:
    """Options with which the recorded scheduler was made. Raises `InputError`, `ConfigError` and `PluginError`."""
    gates = FeatureGates(run.gates)
    registry, names = register(plugins.sources(run))
    chosen = _recorded_configuration(run, gates) if configuration is None else _load(configuration, gates)
    return SchedulerOptions(with_enabled(chosen, names), gates, registry, bindings_at_once=max(1, run.bindings_at_once))


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
