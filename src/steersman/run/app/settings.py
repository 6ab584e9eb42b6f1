# SPDX-License-Identifier: Apache-2.0
"""Effective settings of `steersman run`: configuration with flags applied, feature gates, plugins.

The command creates `RunOptions`; `effective` finds all errors in files and flags before anything is
connected; `run` and `program` read the rest.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from steersman import config
from steersman.api import Duration, read_text
from steersman.base import InputError
from steersman.config import FeatureGates, SchedulerConfiguration
from steersman.kube.observe import LogFormat
from steersman.kube.serving import DEFAULT_PORT, AccessOptions, ProxyHeaders
from steersman.scheduler.assembly import register, with_enabled
from steersman.scheduler.queue import QueueSettings
from steersman.scheduler.runtime import Registry, capabilities_of, check_args

ONE_TLS_FILE = "--tls-cert-file and --tls-private-key-file go together"
_replace = msgspec.structs.replace


# -- options -----------------------------------------------------------------------------------------------------------


class ElectionFlags(msgspec.Struct, frozen=True):
    """Flags of leader election, which override the configuration unless None."""

    leader_elect: bool | None = None
    lease_duration: Duration | None = None
    renew_deadline: Duration | None = None
    retry_period: Duration | None = None
    resource_name: str | None = None
    resource_namespace: str | None = None


class ClientFlags(msgspec.Struct, frozen=True):
    """Flags of the API server connection, which override the configuration unless None."""

    qps: float | None = None
    burst: int | None = None
    content_type: str | None = None


class DebuggingFlags(msgspec.Struct, frozen=True):
    """Flags of debugging, which override the configuration unless None. Profiling enables
    `/debug/tasks`; contention profiling has no effect."""

    enable_profiling: bool | None = None
    enable_contention_profiling: bool | None = None


class AuthenticationOptions(msgspec.Struct, frozen=True):
    """Authentication of HTTPS clients, by upstream's flags."""

    #: --authentication-kubeconfig; "" for the scheduler's own connection.
    kubeconfig: str = ""
    #: --authentication-skip-lookup
    skip_lookup: bool = False
    #: --authentication-tolerate-lookup-failure
    tolerate_lookup_failure: bool = True
    #: --client-ca-file
    client_ca_file: str = ""
    #: --requestheader-client-ca-file; `proxy` has the other --requestheader flags.
    proxy_ca_file: str = ""
    proxy: ProxyHeaders = msgspec.field(default_factory=ProxyHeaders)


class ServingOptions(msgspec.Struct, frozen=True):
    """Flags of the HTTPS endpoints."""

    #: --bind-address
    address: str = "0.0.0.0"
    #: --secure-port; 0 to disable the server.
    port: int = DEFAULT_PORT
    #: --tls-cert-file and --tls-private-key-file, both or neither; self-signed by default.
    certificate_file: str = ""
    key_file: str = ""
    access: AccessOptions = msgspec.field(default_factory=AccessOptions)
    #: --tls-min-version, --tls-cipher-suites
    min_version: str = ""
    cipher_suites: tuple[str, ...] = ()
    #: --permit-port-sharing, --permit-address-sharing
    share_port: bool = False
    share_address: bool = False
    authentication: AuthenticationOptions = msgspec.field(default_factory=AuthenticationOptions)
    #: --authorization-kubeconfig; "" for the scheduler's own connection.
    authorization_kubeconfig: str = ""
    #: --web: serve the web page too.
    web: bool = False


class RecordOptions(msgspec.Struct, frozen=True):
    """Directory and limits of a record."""

    #: --record
    directory: str
    #: --record-size
    total_bytes: int = 1 << 30
    #: --record-age, in seconds; None for no limit.
    age_seconds: float | None = None


class RunOptions(msgspec.Struct, frozen=True):
    """Command line of `steersman run`; "" or None for options that were not given."""

    config_file: str = ""
    #: Overrides `clientConnection.kubeconfig` of the configuration.
    kubeconfig: str = ""
    master: str = ""
    #: Flag value such as "A=true,B=false".
    feature_gates: str = ""
    #: Flag value such as "1.37" or "kube=1.37".
    emulated_version: str = ""
    election: ElectionFlags = msgspec.field(default_factory=ElectionFlags)
    client: ClientFlags = msgspec.field(default_factory=ClientFlags)
    debugging: DebuggingFlags = msgspec.field(default_factory=DebuggingFlags)
    serving: ServingOptions = msgspec.field(default_factory=ServingOptions)
    verbosity: int = 0
    log_format: LogFormat = LogFormat.TEXT
    #: Write the configuration to this file and exit.
    write_config_to: str = ""
    plugin_files: tuple[str, ...] = ()
    #: --pod-max-in-unschedulable-pods-duration, in seconds.
    max_in_unschedulable: float = QueueSettings().max_in_unschedulable
    #: None to record nothing.
    record: RecordOptions | None = None
    #: The command line by flag, for `/flagz`; None if there was none.
    flags: Mapping[str, str] | None = None
    #: A sentence for each given flag of kube-scheduler without effect.
    ignored_flags: tuple[str, ...] = ()


# -- effective settings ------------------------------------------------------------------------------------------------


class EffectiveSettings(msgspec.Struct, frozen=True):
    """Configuration, gates and plugins in effect."""

    configuration: SchedulerConfiguration
    gates: FeatureGates
    registry: Registry
    max_in_unschedulable: float


def effective(options: RunOptions) -> EffectiveSettings:
    """Return the effective settings. Raise `InputError` or `ConfigError` if they are invalid."""
    _check_serving(options.serving)
    gates = FeatureGates.parse(options.feature_gates, options.emulated_version)
    config.refuse_unsupported(gates)
    registry, names = register(options.plugin_files)
    file = options.config_file or None
    loaded = config.load(read_text(file), file, gates) if file else config.default_configuration(gates)
    configuration = with_enabled(_with_flags(loaded, options), names)
    config.validate(configuration, gates, file=file)
    config.build(configuration, capabilities_of(registry, gates), gates, file)
    check_args(configuration, registry, file)
    return EffectiveSettings(configuration, gates, registry, options.max_in_unschedulable)


def _with_flags(loaded: SchedulerConfiguration, options: RunOptions) -> SchedulerConfiguration:
    """Return the configuration with flags applied, which take precedence over the file."""
    return _replace(
        loaded,
        leader_election=_replace(loaded.leader_election, **_said(options.election)),
        client_connection=_replace(loaded.client_connection, **_said(options.client)),
        **_said(options.debugging),
    )


def _said(flags: ElectionFlags | ClientFlags | DebuggingFlags) -> dict[str, object]:
    return {name: value for name, value in msgspec.structs.asdict(flags).items() if value is not None}


def _check_serving(serving: ServingOptions) -> None:
    if bool(serving.certificate_file) != bool(serving.key_file):
        raise InputError(ONE_TLS_FILE)
