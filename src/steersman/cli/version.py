# SPDX-License-Identifier: Apache-2.0
"""`steersman version` and `steersman --version`."""

from __future__ import annotations

import click


def version_line() -> str:
    from steersman.build_info import KUBE_SCHEDULER_VERSION, steersman_version

    return f"steersman {steersman_version()} (kube-scheduler {KUBE_SCHEDULER_VERSION})"


@click.command()
def version() -> None:
    """Print the version, and the kube-scheduler version whose decisions are made."""
    click.echo(version_line())


def print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """A callback: `--version` prints it and ends the command, as elsewhere."""
    if wanted and not context.resilient_parsing:
        click.echo(version_line())
        context.exit()
