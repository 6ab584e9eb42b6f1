# SPDX-License-Identifier: Apache-2.0
"""`steersman completion`, which prints the script for shell completion of commands, options and
file names, and `steersman version`."""

from __future__ import annotations

from typing import Final

import click

_VARIABLE: Final = "_STEERSMAN_COMPLETE"
"""With this variable set, `steersman` answers the shell's completion request; a convention of
click."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a shell script that completes commands, options and file names.

    \b
    bash:  source <(steersman completion bash)
    zsh:   source <(steersman completion zsh)
    fish:  steersman completion fish | source

    Put that line where your shell looks when it starts: ~/.bashrc, ~/.zshrc, ~/.config/fish/config.fish.
    """
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, "click knows the three shells"
    root = click.get_current_context().find_root().command
    # The base class, because the subclass for bash would start a bash to learn its version.
    click.echo(ShellComplete.source(kind(root, {}, "steersman", _VARIABLE)))


# -- version -----------------------------------------------------------------------------------------------------------


def version_line() -> str:
    from steersman.base import KUBE_SCHEDULER_VERSION, steersman_version

    return f"steersman {steersman_version()} (kube-scheduler {KUBE_SCHEDULER_VERSION})"


@click.command()
def version() -> None:
    """Print the versions of Steersman and of the emulated kube-scheduler."""
    click.echo(version_line())


def print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Callback: `--version` prints the version and ends the command."""
    if wanted and not context.resilient_parsing:
        click.echo(version_line())
        context.exit()
