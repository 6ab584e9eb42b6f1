# SPDX-License-Identifier: Apache-2.0
"""From the options of `steersman run` to what is in force: the configuration with flags applied, feature gates, known plugins.

The command makes `RunOptions`; `effective` finds everything that can be wrong in files and flags, before anything is
connected; `run` and `program` read the rest.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from steersman import config
from steersman.api.text_files import read_text
from steersman.assembly.registry import register, with_enabled
from steersman.config import DEFAULT_GATES, Duration, FeatureGates, SchedulerConfiguration
from steersman.errors import InputError
from steersman.observe import LogFormat
from steersman.queue import QueueSettings
from steersman.runtime.capabilities import capabilities_of
from steersman.runtime.registry import Registry
from steersman.serving import DEFAULT_PORT, AccessOptions, ProxyHeaders

ONE_TLS_FILE = "--tls-cert-file and --tls-private-key-file go together"
_replace = msgspec.structs.replace


# -- what may be said --------------------------------------------------------------------------------------------------


class ElectionFlags(msgspec.Struct, frozen=True):
    """Flags of leader election. They override the configuration; None: it decides."""

    leader_elect: bool | None = None
    lease_duration: Duration | None = None
    renew_deadline: Duration | None = None
    retry_period: Duration | None = None
    resource_name: str | None = None
    resource_namespace: str | None = None


class ClientFlags(msgspec.Struct, frozen=True):
    """Flags of the connection to the API server. They override the configuration; None: it decides."""

    qps: float | None = None
    burst: int | None = None
    content_type: str | None = None


class DebuggingFlags(msgspec.Struct, frozen=True):
    """Flags of debugging. They override the configuration; None: it decides. Profiling lets `/debug/tasks` be seen; contention
    profiling has nothing to do here."""

    enable_profiling: bool | None = None
    enable_contention_profiling: bool | None = None


class AuthenticationOptions(msgspec.Struct, frozen=True):
    """How the HTTPS server learns who asks, by upstream's flags."""

    #: --authentication-kubeconfig; "": the scheduler's own connection.
    kubeconfig: str = ""
    #: --authentication-skip-lookup
    skip_lookup: bool = False
    #: --authentication-tolerate-lookup-failure
    tolerate_lookup_failure: bool = True
    #: --client-ca-file
    client_ca_file: str = ""
    #: --requestheader-client-ca-file; `proxy` has what the other flags of that kind say.
    proxy_ca_file: str = ""
    proxy: ProxyHeaders = msgspec.field(default_factory=ProxyHeaders)


class ServingOptions(msgspec.Struct, frozen=True):
    """Flags of the HTTPS endpoints."""

    #: --bind-address
    address: str = "0.0.0.0"
    #: --secure-port; 0: nothing is served.
    port: int = DEFAULT_PORT
    #: --tls-cert-file and --tls-private-key-file, both or neither; without them the certificate is self-signed.
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
    #: --authorization-kubeconfig; "": the scheduler's own connection.
    authorization_kubeconfig: str = ""
    #: --web: serve the web page too.
    web: bool = False


class RecordOptions(msgspec.Struct, frozen=True):
    """Where everything is recorded, and how much of it is kept."""

    #: --record
    directory: str
    #: --record-size
    total_bytes: int = 1 << 30
    #: --record-age, in seconds; None: nothing is too old.
    age_seconds: float | None = None


class RunOptions(msgspec.Struct, frozen=True):
    """Everything that an operator may say to `steersman run` on the command line; "" or None where nothing was said."""

    config_file: str = ""
    #: Before `clientConnection.kubeconfig` of the configuration.
    kubeconfig: str = ""
    master: str = ""
    #: As in the flag: "A=true,B=false".
    feature_gates: str = ""
    election: ElectionFlags = msgspec.field(default_factory=ElectionFlags)
    client: ClientFlags = msgspec.field(default_factory=ClientFlags)
    debugging: DebuggingFlags = msgspec.field(default_factory=DebuggingFlags)
    serving: ServingOptions = msgspec.field(default_factory=ServingOptions)
    verbosity: int = 0
    log_format: LogFormat = LogFormat.TEXT
    #: The configuration is written to this file, and nothing is run.
    write_config_to: str = ""
    plugin_files: tuple[str, ...] = ()
    #: --pod-max-in-unschedulable-pods-duration, in seconds.
    max_in_unschedulable: float = QueueSettings().max_in_unschedulable
    #: None: nothing is recorded.
    record: RecordOptions | None = None
    #: The command line as `/flagz` shows it, by flag; None: there was none.
    flags: Mapping[str, str] | None = None


# -- what is in force --------------------------------------------------------------------------------------------------


class Effective(msgspec.Struct, frozen=True):
    """Configuration, gates and plugins that are in force."""

    configuration: SchedulerConfiguration
    gates: FeatureGates
    registry: Registry
    max_in_unschedulable: float


def effective(options: RunOptions) -> Effective:
    """`InputError` or `ConfigError` for what cannot be used."""
    _check_serving(options.serving)
    gates = FeatureGates.parse(options.feature_gates) if options.feature_gates else DEFAULT_GATES
    config.refuse_unsupported(gates)
    registry, names = register(options.plugin_files)
    file = options.config_file or None
    loaded = config.load(read_text(file), file, gates) if file else config.default_configuration(gates)
    configuration = with_enabled(_with_flags(loaded, options), names)
    config.validate(configuration, gates, file=file)
    config.build(configuration, capabilities_of(registry), gates, file)
    return Effective(configuration, gates, registry, options.max_in_unschedulable)


def _with_flags(loaded: SchedulerConfiguration, options: RunOptions) -> SchedulerConfiguration:
    """The configuration with flags applied: the command line goes before the file, whose author may not know this process."""
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
