# SPDX-License-Identifier: Apache-2.0
"""From options to what is in force: the configuration with flags applied, feature gates, known plugins.

Everything that can be wrong in files and flags is found here, before anything is connected.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from steersman import config
from steersman.app.settings import ClientFlags, DebuggingFlags, ElectionFlags, RunOptions, ServingOptions
from steersman.config import DEFAULT_GATES, FeatureGates, SchedulerConfiguration
from steersman.errors import InputError
from steersman.runtime.capabilities import capabilities_of
from steersman.runtime.registry import Registry
from steersman.sim.extensions import register, with_enabled

ONE_TLS_FILE = "--tls-cert-file and --tls-private-key-file go together"
_replace = msgspec.structs.replace


@dataclass(frozen=True, slots=True)
class Effective:
    """In force."""

    configuration: SchedulerConfiguration
    gates: FeatureGates
    registry: Registry
    max_in_unschedulable: float


def effective(options: RunOptions) -> Effective:
    """`InputError` or `ConfigError` for what cannot be used."""
    _check_serving(options.serving)
    gates = FeatureGates.parse(options.feature_gates) if options.feature_gates else DEFAULT_GATES
    registry, names = register(options.plugin_files)
    file = options.config_file or None
    loaded = config.load(_text(file), file, gates) if file else config.default_configuration(gates)
    configuration = with_enabled(_with_flags(loaded, options), names)
    config.validate(configuration, gates, file=file)
    config.build(configuration, capabilities_of(registry), gates, file)
    return Effective(configuration, gates, registry, options.max_in_unschedulable)


def _with_flags(loaded: SchedulerConfiguration, options: RunOptions) -> SchedulerConfiguration:
    """What is said on the command line goes before the file, whose author may not know this process."""
    return _replace(
        loaded,
        leader_election=_replace(loaded.leader_election, **_said(options.election)),
        client_connection=_replace(loaded.client_connection, **_said(options.client)),
        **_said(options.debugging),
    )


def _said(flags: ElectionFlags | ClientFlags | DebuggingFlags) -> dict[str, object]:
    return {name: value for name, value in asdict(flags).items() if value is not None}


def _check_serving(serving: ServingOptions) -> None:
    if bool(serving.certificate_file) != bool(serving.key_file):
        raise InputError(ONE_TLS_FILE)


def _text(file: str) -> str:
    try:
        return Path(file).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from error
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8 text", file=file) from error
