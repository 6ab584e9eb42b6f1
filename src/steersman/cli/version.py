# SPDX-License-Identifier: Apache-2.0
"""`steersman version`."""

from __future__ import annotations

import click


@click.command()
def version() -> None:
    """Print the version, and the kube-scheduler version whose decisions are made."""
    from importlib.metadata import version as installed

    click.echo(f"steersman {installed('steersman')} (kube-scheduler v1.36)")
