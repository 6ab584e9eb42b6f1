# SPDX-License-Identifier: Apache-2.0
"""What an operator may say to `steersman run` on the command line. Made by the command, read by `effective` and `program`."""

from __future__ import annotations

from dataclasses import dataclass, field

from steersman.app.authorities import AuthenticationOptions
from steersman.config import Duration
from steersman.observe import Format
from steersman.queue import QueueSettings
from steersman.serving import DEFAULT_PORT, AccessOptions


@dataclass(frozen=True, slots=True)
class ElectionFlags:
    """They override the configuration; None: it decides."""

    leader_elect: bool | None = None
    lease_duration: Duration | None = None
    renew_deadline: Duration | None = None
    retry_period: Duration | None = None
    resource_name: str | None = None
    resource_namespace: str | None = None


@dataclass(frozen=True, slots=True)
class ClientFlags:
    """As `ElectionFlags`, for the connection to the API server."""

    qps: float | None = None
    burst: int | None = None
    content_type: str | None = None


@dataclass(frozen=True, slots=True)
class DebuggingFlags:
    """As `ElectionFlags`. Profiling lets `/debug/tasks` be seen; contention profiling has nothing to do here."""

    enable_profiling: bool | None = None
    enable_contention_profiling: bool | None = None


@dataclass(frozen=True, slots=True)
class ServingOptions:
    """The HTTPS endpoints."""

    #: --bind-address
    address: str = "0.0.0.0"
    #: --secure-port; 0: nothing is served.
    port: int = DEFAULT_PORT
    #: --tls-cert-file and --tls-private-key-file, both or neither; without them the certificate is self-signed.
    certificate_file: str = ""
    key_file: str = ""
    access: AccessOptions = field(default_factory=AccessOptions)
    #: --tls-min-version, --tls-cipher-suites
    min_version: str = ""
    cipher_suites: tuple[str, ...] = ()
    #: --permit-port-sharing, --permit-address-sharing
    share_port: bool = False
    share_address: bool = False
    authentication: AuthenticationOptions = field(default_factory=AuthenticationOptions)
    #: --authorization-kubeconfig; "": the scheduler's own connection.
    authorization_kubeconfig: str = ""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """ "" or None where nothing was said."""

    config_file: str = ""
    #: Before `clientConnection.kubeconfig` of the configuration.
    kubeconfig: str = ""
    master: str = ""
    #: As in the flag: "A=true,B=false".
    feature_gates: str = ""
    election: ElectionFlags = field(default_factory=ElectionFlags)
    client: ClientFlags = field(default_factory=ClientFlags)
    debugging: DebuggingFlags = field(default_factory=DebuggingFlags)
    serving: ServingOptions = field(default_factory=ServingOptions)
    verbosity: int = 0
    log_format: Format = Format.TEXT
    #: The configuration is written to this file, and nothing is run.
    write_config_to: str = ""
    plugin_files: tuple[str, ...] = ()
    #: --pod-max-in-unschedulable-pods-duration, in seconds.
    max_in_unschedulable: float = QueueSettings().max_in_unschedulable
