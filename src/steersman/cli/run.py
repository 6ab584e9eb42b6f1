"""`steersman run`: schedules a real cluster. Flags as kube-scheduler has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from steersman.cli.parameters import parse_seconds

if TYPE_CHECKING:
    from steersman.config import Duration


def _duration(_: click.Context, __: click.Parameter, text: str | None) -> Duration | None:
    """As Go writes it; what the configuration file would take."""
    if text is None:
        return None
    from steersman.config import Duration, DurationError

    try:
        return Duration.parse(text)
    except DurationError as error:
        raise click.BadParameter(f'{text!r} is not a duration; use for example "15s" or "1m30s"') from error


def _verbosity(_: click.Context, __: click.Parameter, text: str) -> int:
    """`-v=2` and `-v 2` mean the same, as everywhere in Kubernetes."""
    number = text.removeprefix("=")
    if not number.isdecimal():
        raise click.BadParameter(f"{text!r} is not a number")
    return int(number)


def _paths(_: click.Context, __: click.Parameter, text: str) -> tuple[str, ...]:
    return tuple(path for path in (part.strip() for part in text.split(",")) if path)


@click.command()
@click.option("--config", "config_file", default="", metavar="FILE", help="A KubeSchedulerConfiguration (v1).")
@click.option("--kubeconfig", default="", metavar="FILE", help="How to reach the cluster; before what the file says.")
@click.option("--master", default="", metavar="URL", help="Address of the API server, before the kubeconfig's.")
@click.option(
    "--leader-elect",
    type=bool,
    is_flag=False,
    flag_value="true",
    metavar="[true|false]",
    help="Schedule only while holding the lease.",
)
@click.option("--leader-elect-lease-duration", callback=_duration, metavar="DURATION", help="A lease lasts so long.")
@click.option("--leader-elect-renew-deadline", callback=_duration, metavar="DURATION", help="A leader gives up then.")
@click.option("--leader-elect-retry-period", callback=_duration, metavar="DURATION", help="Pause between attempts.")
@click.option("--leader-elect-resource-name", metavar="NAME", help="Name of the lease.")
@click.option("--leader-elect-resource-namespace", metavar="NAMESPACE", help="Namespace of the lease.")
@click.option("--secure-port", type=click.IntRange(0, 65535), default=10259, show_default=True, help="0: no HTTPS.")
@click.option("--bind-address", default="0.0.0.0", show_default=True, help="Address of the HTTPS endpoints.")
@click.option("--tls-cert-file", default="", metavar="FILE", help="Certificate; without one it is self-signed.")
@click.option("--tls-private-key-file", default="", metavar="FILE", help="Key of the certificate.")
@click.option(
    "--authorization-always-allow-paths",
    "open_paths",
    default="/healthz,/readyz,/livez",
    show_default=True,
    callback=_paths,
    metavar="PATH,…",
    help="Paths that need no rights.",
)
@click.option(
    "--authentication-token-webhook-cache-ttl",
    "token_ttl",
    default="10s",
    show_default=True,
    callback=parse_seconds,
    metavar="DURATION",
    help="How long it is remembered whose token is whose.",
)
@click.option(
    "--authorization-webhook-cache-authorized-ttl",
    "allowed_ttl",
    default="10s",
    show_default=True,
    callback=parse_seconds,
    metavar="DURATION",
    help="How long a granted access is remembered.",
)
@click.option(
    "--authorization-webhook-cache-unauthorized-ttl",
    "denied_ttl",
    default="10s",
    show_default=True,
    callback=parse_seconds,
    metavar="DURATION",
    help="How long a refused access is remembered.",
)
@click.option("--feature-gates", default="", metavar="A=true,B=false", help="Feature gates, as kube-scheduler's.")
@click.option("--plugin", "plugins", multiple=True, metavar="FILE", help="A Python file with plugins. May be repeated.")
@click.option("-v", "--v", "verbosity", default="0", callback=_verbosity, metavar="LEVEL", help="Verbosity of the log.")
@click.option("--logging-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--write-config-to", default="", metavar="FILE", help="Write the configuration with defaults, and exit.")
def run(
    config_file: str,
    kubeconfig: str,
    master: str,
    leader_elect: bool | None,
    leader_elect_lease_duration: Duration | None,
    leader_elect_renew_deadline: Duration | None,
    leader_elect_retry_period: Duration | None,
    leader_elect_resource_name: str | None,
    leader_elect_resource_namespace: str | None,
    secure_port: int,
    bind_address: str,
    tls_cert_file: str,
    tls_private_key_file: str,
    open_paths: tuple[str, ...],
    token_ttl: float,
    allowed_ttl: float,
    denied_ttl: float,
    feature_gates: str,
    plugins: tuple[str, ...],
    verbosity: int,
    logging_format: str,
    write_config_to: str,
) -> None:
    """Schedule the pods of a real cluster until SIGTERM or SIGINT.

    Exits with 0 when it was asked to end, with 1 when it lost the lease or a second signal came.
    """
    from steersman.app import ElectionFlags, RunOptions, ServingOptions, main
    from steersman.observe import Format
    from steersman.serving import AccessOptions

    election = ElectionFlags(
        leader_elect,
        leader_elect_lease_duration,
        leader_elect_renew_deadline,
        leader_elect_retry_period,
        leader_elect_resource_name,
        leader_elect_resource_namespace,
    )
    access = AccessOptions(open_paths, token_ttl, allowed_ttl, denied_ttl)
    options = RunOptions(
        config_file=config_file,
        kubeconfig=kubeconfig,
        master=master,
        feature_gates=feature_gates,
        election=election,
        serving=ServingOptions(bind_address, secure_port, tls_cert_file, tls_private_key_file, access),
        verbosity=verbosity,
        log_format=Format(logging_format),
        write_config_to=write_config_to,
        plugin_files=plugins,
    )
    click.get_current_context().exit(main(options))
