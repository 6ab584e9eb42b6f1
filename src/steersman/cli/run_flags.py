# SPDX-License-Identifier: Apache-2.0
"""The flags of `steersman run` about scheduling: configuration, cluster, lease, logs. Spelled as in
kube-scheduler.

`scheduling_flags` declares them; the other functions convert their values for `steersman.run.app`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from steersman.cli.parameters import (
    CommandT,
    Given,
    config_option,
    file_option,
    parse_duration,
    parse_seconds,
    plugin_option,
    switch,
    version_option,
    with_options,
)

if TYPE_CHECKING:
    from steersman.run.app import ClientFlags, DebuggingFlags, ElectionFlags, RecordOptions

SMALLEST_RECORD: Final = 1 << 20


def scheduling_flags(command: CommandT) -> CommandT:
    return with_options(command, (*_CONFIGURATION, *_CLUSTER, *_QUEUE, *_ELECTION, *_RECORD, *_LOGS))


def election_flags(given: Given) -> ElectionFlags:
    from steersman.run.app import ElectionFlags

    return ElectionFlags(
        given["leader_elect"],
        given["leader_elect_lease_duration"],
        given["leader_elect_renew_deadline"],
        given["leader_elect_retry_period"],
        given["leader_elect_resource_name"],
        given["leader_elect_resource_namespace"],
    )


def client_flags(given: Given) -> ClientFlags:
    from steersman.run.app import ClientFlags

    return ClientFlags(given["kube_api_qps"], given["kube_api_burst"], given["kube_api_content_type"])


def debugging_flags(given: Given) -> DebuggingFlags:
    from steersman.run.app import DebuggingFlags

    return DebuggingFlags(given["profiling"], given["contention_profiling"])


def record_options(given: Given) -> RecordOptions | None:
    """Return the options of the record, or None if nothing is recorded."""
    from steersman.run.app import RecordOptions

    if given["record"] is None:
        return None
    return RecordOptions(given["record"], given["record_size"], given["record_age"])


def flag_values(context: click.Context) -> dict[str, str]:
    """Return the command line as shown by `/flagz`: every flag with its value in Go's format; ""
    for flags that were not given and are set by the configuration."""
    return {
        max(option.opts, key=len).lstrip("-"): _flag_text(option, context.params[option.name])
        for option in context.command.params
        if option.name in context.params
    }


def _flag_text(option: click.Parameter, value: object) -> str:
    from steersman.base import hide_passwords

    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    is_duration = isinstance(value, float) and option.type is not click.FLOAT
    return f"{value:g}s" if is_duration else hide_passwords(str(value))


def _verbosity(_: click.Context, __: click.Parameter, text: str) -> int:
    """Callback: parse `-v=2` and `-v 2`, as usual in Kubernetes."""
    number = text.removeprefix("=")
    if not number.isdecimal() or len(number) > 9:
        raise click.BadParameter(f"{text!r} is not a number")
    return int(number)


def _bytes(_: click.Context, __: click.Parameter, text: str) -> int:
    from steersman.api import quantity
    from steersman.base import InputError

    try:
        size = quantity.value(quantity.parse(text))
    except InputError as error:
        raise click.BadParameter(f'{text!r} is not an amount of memory; use for example "500Mi" or "10Gi"') from error
    if size < SMALLEST_RECORD:
        raise click.BadParameter(f"{text!r} is too little for a record; it takes 1Mi at least")
    return size


def _duration(name: str, text: str) -> Any:
    return click.option(name, callback=parse_duration, metavar="DURATION", help=text)


_CONFIGURATION = (
    config_option("A KubeSchedulerConfiguration (v1)."),
    file_option("--write-config-to", "Write the effective configuration, and exit."),
    click.option("--feature-gates", default="", metavar="A=true,B=false", help="Feature gates, as kube-scheduler's."),
    version_option,
    plugin_option("A Python file with plugins. Repeatable."),
    switch("--profiling", "Show what every task does at /debug/tasks."),
    switch("--contention-profiling", "Has no effect: one thread schedules, and nothing contends."),
)
_QUEUE = (
    click.option(
        "--pod-max-in-unschedulable-pods-duration",
        "max_in_unschedulable",
        default="5m",
        show_default=True,
        callback=parse_seconds,
        metavar="DURATION",
        help="Retry an unschedulable pod after this time, even without an event.",
    ),
)
_CLUSTER = (
    file_option("--kubeconfig", "Kubeconfig of the cluster; overrides that of the configuration."),
    click.option("--master", default="", metavar="URL", help="Address of the API server, before the kubeconfig's."),
    click.option("--kube-api-qps", type=float, metavar="NUMBER", help="Maximum average number of requests per second."),
    click.option("--kube-api-burst", type=int, metavar="NUMBER", help="Maximum burst of requests."),
    click.option(
        "--kube-api-content-type", metavar="TYPE", help="Accepted without effect: objects are always sent as JSON."
    ),
)
_ELECTION = (
    switch("--leader-elect", "Schedule only while holding the lease."),
    _duration("--leader-elect-lease-duration", "Duration of the lease."),
    _duration("--leader-elect-renew-deadline", "Time after which a leader that cannot renew its lease stops."),
    _duration("--leader-elect-retry-period", "Time between attempts to acquire or renew the lease."),
    click.option(
        "--leader-elect-resource-lock",
        type=click.Choice(["leases"]),
        default="leases",
        help="Kind of the lock: only leases are supported.",
    ),
    click.option("--leader-elect-resource-name", metavar="NAME", help="Name of the lease."),
    click.option("--leader-elect-resource-namespace", metavar="NAMESPACE", help="Namespace of the lease."),
)
_RECORD = (
    click.option(
        "--record",
        type=click.Path(),
        metavar="DIR",
        help="Record inputs and decisions in this directory, for `steersman replay`.",
    ),
    click.option(
        "--record-size",
        default="1Gi",
        show_default=True,
        callback=_bytes,
        metavar="QUANTITY",
        help="Maximum size of the record.",
    ),
    click.option("--record-age", callback=parse_seconds, metavar="DURATION", help="Maximum age of the record."),
)
_LOGS = (
    click.option(
        "-v", "--v", "verbosity", default="0", callback=_verbosity, metavar="LEVEL", help="Verbosity of the log."
    ),
    click.option("--logging-format", type=click.Choice(["text", "json"]), default="text", show_default=True),
)
