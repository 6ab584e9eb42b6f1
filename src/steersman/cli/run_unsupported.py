# SPDX-License-Identifier: Apache-2.0
"""Flags of kube-scheduler that mean nothing here: each is refused with what there is instead, not silently ignored."""

from __future__ import annotations

from typing import Final

import click

from steersman.cli.parameters import CommandT, with_options

_HTTP2: Final = "the endpoints speak HTTP/1.1"
_STREAMS: Final = "everything is logged to standard error, at once"
_METRICS: Final = "all metrics are always shown; drop what you do not want where you scrape"
_VERSIONS: Final = "decisions are those of kube-scheduler 1.36; use --feature-gates for single features"

UNSUPPORTED: Final = {
    "--vmodule": "verbosity is the same everywhere; use -v",
    "--log-flush-frequency": _STREAMS,
    "--log-text-split-stream": _STREAMS,
    "--log-text-info-buffer-size": _STREAMS,
    "--log-json-split-stream": _STREAMS,
    "--log-json-info-buffer-size": _STREAMS,
    "--disable-http2-serving": _HTTP2,
    "--http2-max-streams-per-connection": _HTTP2,
    "--cert-dir": "name the files with --tls-cert-file and --tls-private-key-file",
    "--tls-sni-cert-key": "there is one certificate; it may have several names",
    "--tls-curve-preferences": "curves are those of the ssl module",
    "--show-hidden-metrics-for-version": _METRICS,
    "--disabled-metrics": _METRICS,
    "--allow-metric-labels": _METRICS,
    "--allow-metric-labels-manifest": _METRICS,
    "--emulated-version": _VERSIONS,
    "--version": "use steersman --version",
    "--min-compatibility-version": _VERSIONS,
}


def unsupported_flags(command: CommandT) -> CommandT:
    """Adds flags that are refused with a reason, and not shown in the help."""
    options = [
        click.option(name, is_flag=False, flag_value="", hidden=True, expose_value=False, callback=_refuse)
        for name in UNSUPPORTED
    ]
    return with_options(command, options)


def _refuse(_: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        name = parameter.opts[0]
        raise click.UsageError(f"{name} of kube-scheduler is not supported: {UNSUPPORTED[name]}")
