# SPDX-License-Identifier: Apache-2.0
"""`steersman version` and `steersman --version`."""

from __future__ import annotations

import click


def version_line() -> str:
    from steersman.base import KUBE_SCHEDULER_VERSION, steersman_version

    return f"steersman {steersman_version()} (kube-scheduler {KUBE_SCHEDULER_VERSION})"


@click.command()
def version() -> None:
    """Print the version, and the kube-scheduler version whose decisions are made."""
    click.echo(version_line())


def print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Callback: `--version` prints the version and ends the command."""
    if wanted and not context.resilient_parsing:
        click.echo(version_line())
        context.exit()
