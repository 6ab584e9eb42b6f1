# SPDX-License-Identifier: Apache-2.0
"""`kubectl steersman …`: the commands that read a cluster, as a plugin of kubectl.

kubectl runs the executable `kubectl-steersman` in the PATH, which `pip install` puts there. `why`
is `steersman explain`; other commands keep their names. Without files they read kubectl's current
cluster; kubectl's flags may come before or after the command.
"""

from __future__ import annotations

from collections.abc import Mapping

import click

from steersman.cli.completion import version
from steersman.cli.doctor import doctor
from steersman.cli.explain import explain
from steersman.cli.group import ErrorLines
from steersman.cli.live_cluster import FROM_KUBECTL
from steersman.cli.plan import plan
from steersman.cli.simulate import simulate

COMMANDS: Mapping[str, click.Command] = {
    "why": explain,
    "explain": explain,
    "plan": plan,
    "simulate": simulate,
    "doctor": doctor,
    "version": version,
}


@click.group(cls=ErrorLines, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.option("--kubeconfig", default="", type=click.Path(), metavar="FILE", help="As kubectl takes it.")
@click.option("--context", default="", metavar="NAME", help="As kubectl takes it.")
@click.option("-n", "--namespace", default="", metavar="NAMESPACE", help="As kubectl takes it.")
@click.pass_context
def main(ctx: click.Context, /, **flags: str) -> None:
    """Why pods are pending, and what would help: Steersman as a plugin of kubectl."""
    ctx.obj = FROM_KUBECTL
    ctx.default_map = _defaults(COMMANDS, {name: value for name, value in flags.items() if value})


def _defaults(commands: Mapping[str, click.Command], flags: Mapping[str, str]) -> dict[str, object]:
    """Return the flags as defaults of every command that has options with these names."""
    defaults: dict[str, object] = {}
    for name, command in commands.items():
        if isinstance(command, click.Group):
            defaults[name] = _defaults(command.commands, flags)
        else:
            known = {parameter.name for parameter in command.params}
            defaults[name] = {flag: value for flag, value in flags.items() if flag in known}
    return defaults


for command_name, command in COMMANDS.items():
    main.add_command(command, command_name)
