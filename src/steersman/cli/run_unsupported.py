# SPDX-License-Identifier: Apache-2.0
"""Flags of kube-scheduler that `steersman run` does not support: ignored with a warning, or refused
if ignoring would change behaviour.

`other_flags` declares them; `ignored_flags` and `refused_flags` list those on a command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import click

from steersman.cli.parameters import CommandT, with_options

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
