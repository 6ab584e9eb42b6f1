# SPDX-License-Identifier: Apache-2.0
"""`steersman mcp`: a local, read-only server of the Model Context Protocol."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from steersman.base import InputError
from steersman.cli.parameters import config_option, file_option, plugin_option

NOT_INSTALLED: Final = "needs the package mcp"
INSTALL: Final = "pip install 'steersman[mcp]'"


@click.command()
@file_option(
    "--kubeconfig", "How to reach the live cluster. Default: $KUBECONFIG, else ~/.kube/config if there is one."
)
@click.option("--context", default="", metavar="NAME", help="Context of the kubeconfig.")
@config_option("The scheduler's configuration.")
@plugin_option("A Python file with plugins.")
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    metavar="DIR",
    help="Tools may read files below this folder. May be repeated. Default: where the server was started.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="Time after which a call ends with an error.",
)
@click.option(
    "--max-output",
    type=click.IntRange(min=1000),
    default=60_000,
    show_default=True,
    metavar="CHARACTERS",
    help="Maximum length of answers; longer ones are truncated with a note.",
)
def mcp(
    kubeconfig: str,
    context: str,
    config_file: str,
    plugins: tuple[str, ...],
    roots: tuple[str, ...],
    timeout: float,
    max_output: int,
) -> None:
    """Offer explain, plan and simulate to assistants, as read-only tools of a local MCP server.

    Speaks the Model Context Protocol on standard input and output, as assistants and editors start it. Tools answer about
    files, or about the live cluster of the kubeconfig; nothing is ever written to it. Needs pip install 'steersman[mcp]'.
    """
    import asyncio

    try:
        from steersman.cli.mcp_server.server import serve
    except ImportError as error:
        raise InputError(NOT_INSTALLED, object="steersman mcp", hint=INSTALL) from error
    from steersman.cli.mcp_server.command import ServerSettings

    settings = ServerSettings(
        roots=tuple(map(Path, roots)) or (Path.cwd(),),
        kubeconfig=kubeconfig or _current_kubeconfig(),
        context=context,
        config=config_file,
        plugins=plugins,
        seconds=timeout,
        most_characters=max_output,
    )
    asyncio.run(serve(settings))


def _current_kubeconfig() -> str:
    """Return kubectl's current kubeconfig, or ""."""
    named = os.environ.get("KUBECONFIG", "")
    usual = Path.home() / ".kube" / "config"
    return named or (str(usual) if usual.is_file() else "")
