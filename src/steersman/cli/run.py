# SPDX-License-Identifier: Apache-2.0
"""`steersman run`: schedules a real cluster. Flags as kube-scheduler has them (`run_flags`,
`run_serving_flags`).

Flags of kube-scheduler without support are ignored with a warning, or refused if ignoring them
would change behaviour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from steersman.cli.output import require_unix
from steersman.cli.parameters import CommandT, with_options
from steersman.cli.run_flags import (
    client_flags,
    debugging_flags,
    election_flags,
    flag_values,
    record_options,
    scheduling_flags,
)
from steersman.cli.run_serving_flags import serving_flags, serving_options

if TYPE_CHECKING:
    from steersman.run.app import RunOptions


_HTTP2: Final = "the endpoints speak HTTP/1.1"
_STREAMS: Final = "everything is logged to standard error, without a buffer"
_METRICS: Final = "all metrics are always shown; drop what you do not want where you scrape"
_VERSIONS: Final = "use --emulated-version, and --feature-gates for single features"

#: Flags that can be ignored, with the reason why they have no effect.
IGNORED: Final = {
    "--log-flush-frequency": _STREAMS,
    "--log-text-split-stream": _STREAMS,
    "--log-text-info-buffer-size": _STREAMS,
    "--log-json-split-stream": _STREAMS,
    "--log-json-info-buffer-size": _STREAMS,
    "--disable-http2-serving": _HTTP2,
    "--http2-max-streams-per-connection": _HTTP2,
    "--cert-dir": "a self-signed certificate is in memory only; name files with --tls-cert-file",
    "--show-hidden-metrics-for-version": "no metric is hidden",
}
#: Flags that must be refused, with the alternative.
UNSUPPORTED: Final = {
    "--vmodule": "verbosity is the same everywhere; use -v",
    "--tls-sni-cert-key": "there is one certificate; it may have several names",
    "--tls-curve-preferences": "curves are those of the ssl module",
    "--disabled-metrics": _METRICS,
    "--allow-metric-labels": _METRICS,
    "--allow-metric-labels-manifest": _METRICS,
    "--version": "use steersman --version",
    "--min-compatibility-version": _VERSIONS,
}


def other_flags(command: CommandT) -> CommandT:
    """Add the flags to the command, hidden from its help."""
    options = [
        click.option(name, is_flag=False, flag_value="", hidden=True, expose_value=False, callback=_note)
        for name in (*IGNORED, *UNSUPPORTED)
    ]
    return with_options(command, options)


def ignored_flags(context: click.Context) -> list[str]:
    """Return a sentence for each flag of the command line that has no effect."""
    return [f"{name} of kube-scheduler has no effect: {reason}" for name, reason in _given(context, IGNORED)]


def refused_flags(context: click.Context) -> list[str]:
    """Return a sentence for each flag of the command line that is not supported."""
    return [f"{name} of kube-scheduler is not supported: {reason}" for name, reason in _given(context, UNSUPPORTED)]


def _note(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.meta.setdefault(__name__, set()).add(parameter.opts[0])


def _given(context: click.Context, flags: Mapping[str, str]) -> list[tuple[str, str]]:
    given = context.meta.get(__name__, ())
    return [(name, reason) for name, reason in flags.items() if name in given]


# -- the command -------------------------------------------------------------------------------------------------------


@click.command()
@scheduling_flags
@serving_flags
@other_flags
@click.option("--shadow", is_flag=True, help="Schedule nothing: the same as `steersman shadow` with these files.")
def run(**given: Any) -> None:
    """Schedule the pods of a real cluster until SIGTERM or SIGINT.

    Flags override the configuration file. Exits with 0 after a signal, with 1 after the loss of the
    lease or a second signal.
    """
    require_unix("run")
    context = click.get_current_context()
    if refused := refused_flags(context):
        raise click.UsageError("\n".join(refused))
    if given["shadow"]:
        from steersman.cli.shadow import shadow
        from steersman.run.shadow import HOLD_SECONDS

        files = ("kubeconfig", "master", "config_file", "plugins", "feature_gates", "emulated_version")
        context.invoke(shadow, hold=HOLD_SECONDS, **{name: given[name] for name in files})
    import gc

    gc.disable()  # garbage collections during the imports would take a tenth of the time
    from steersman.run.app import main

    gc.freeze()
    gc.enable()
    context.exit(main(run_options(context)))


def checked_command_line(flags: Sequence[str]) -> tuple[RunOptions | None, list[str]]:
    """Return the options of `run` with these flags, and a sentence for each flag that it would
    refuse; the options are None if another part of the command line is invalid. A leading program
    name is skipped, so that the command of a container can be passed."""
    from steersman.base import SteersmanError

    programs = next((index for index, flag in enumerate(flags) if flag.startswith("-")), len(flags))
    try:
        context = run.make_context("run", list(flags[programs:]))
        return run_options(context), refused_flags(context)
    except click.ClickException as error:
        return None, [error.format_message()]
    except SteersmanError as error:
        return None, [str(error)]


def run_options(context: click.Context) -> RunOptions:
    """Return the options for `steersman.run.app` from the command line of `run`."""
    from steersman.kube.observe import LogFormat
    from steersman.run.app import RunOptions

    given = context.params
    return RunOptions(
        config_file=given["config_file"],
        kubeconfig=given["kubeconfig"],
        master=given["master"],
        feature_gates=given["feature_gates"],
        emulated_version=given["emulated_version"],
        election=election_flags(given),
        client=client_flags(given),
        debugging=debugging_flags(given),
        serving=serving_options(given),
        verbosity=given["verbosity"],
        log_format=LogFormat(given["logging_format"]),
        write_config_to=given["write_config_to"],
        plugin_files=given["plugins"],
        max_in_unschedulable=given["max_in_unschedulable"],
        record=record_options(given),
        flags=flag_values(context),
        ignored_flags=tuple(ignored_flags(context)),
    )
