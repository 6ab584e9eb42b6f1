# SPDX-License-Identifier: Apache-2.0
"""`steersman config`: checks, prints, compares and converts configurations."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click

from steersman.cli.output import SummaryGroup, say
from steersman.cli.parameters import gates_option, parse_gates, plugin_option
from steersman.printable import printable

if TYPE_CHECKING:
    from steersman.config import EffectiveProfile, SchedulerConfiguration

DIFFERENT: Final = 1

_plugin_option = plugin_option("A Python file with plugins that FILE may name.")


@click.group(cls=SummaryGroup)
def config() -> None:
    """Check, print, compare and convert scheduler configurations."""


@config.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE…")
@gates_option
@_plugin_option
def check(files: tuple[str, ...], feature_gates: str | None, plugins: tuple[str, ...]) -> None:
    """Say whether FILEs are valid: decoding, defaults, validation, and whether every plugin exists, disabled ones too.

    Prints one line per problem and exits with 2 if there are any.
    """
    from steersman.config import ConfigError

    problems = False
    for file in files:
        try:
            profiles = _effective(_load(file, feature_gates), feature_gates, plugins, file, strict=True)
        except ConfigError as error:
            problems = True
            say("\n".join(map(printable, error.lines)), err=True)
        else:
            names = ", ".join(profile.scheduler_name for profile in profiles)
            say(f"{file}: valid; profiles: {names}")
    if problems:
        click.get_current_context().exit(2)


@config.command()
@click.argument("file", required=False, type=click.Path())
@click.option("--effective", is_flag=True, help="Print which plugins run at which extension point, and their weights.")
@click.option("--raw", is_flag=True, help="Print keys and passwords of extenders too.")
@gates_option
@_plugin_option
def show(file: str | None, effective: bool, raw: bool, feature_gates: str | None, plugins: tuple[str, ...]) -> None:
    """Print FILE with all defaults, but without secrets; without FILE, the default configuration."""
    from steersman.config import dump_public_yaml, dump_yaml

    loaded = _load(file, feature_gates)
    if effective:
        lines: list[str] = []
        for profile in _effective(loaded, feature_gates, plugins, file):
            lines += [*_profile_table(profile), ""]
        say("\n".join(lines[:-1]))
    else:
        say((dump_yaml(loaded) if raw else dump_public_yaml(loaded)).rstrip("\n"))


@config.command()
@click.argument("before", type=click.Path())
@click.argument("after", type=click.Path())
@gates_option
@_plugin_option
def diff(before: str, after: str, feature_gates: str | None, plugins: tuple[str, ...]) -> None:
    """Print what differs between two configurations, defaults included; exit with 1 if anything does.

    What makes no difference to a scheduler is none: other words for the same plugins and weights, another order of
    arguments.
    """
    from steersman.assembly.registry import register
    from steersman.config import diff as differences
    from steersman.runtime.capabilities import capabilities_of

    capabilities = capabilities_of(register(plugins)[0])
    changes = differences(_load(before, feature_gates), _load(after, feature_gates), capabilities)
    for change in changes:
        say(printable(str(change)))
    if changes:
        click.get_current_context().exit(DIFFERENT)


@config.command()
@click.argument("file", type=click.Path())
@click.option("--scheduler-name", default="default-scheduler", show_default=True, help="Name of the new profile.")
def convert(file: str, scheduler_name: str) -> None:
    """Convert a legacy Policy FILE (predicates and priorities) to a KubeSchedulerConfiguration.

    What cannot be expressed any more is an error if it kept pods off nodes, and a warning otherwise.
    """
    from steersman.config import convert_policy, dump_yaml

    converted = convert_policy(_text(file), file, scheduler_name)
    for warning in converted.warnings:
        say(printable(f"Warning: {file}: {warning}"), err=True)
    say(dump_yaml(converted.configuration).rstrip("\n"))


def _load(file: str | None, feature_gates: str | None) -> SchedulerConfiguration:
    from steersman.config import DEFAULT_GATES, default_configuration, load

    gates = parse_gates(feature_gates) or DEFAULT_GATES
    return default_configuration(gates) if file is None else load(_text(file), file, gates)


def _text(file: str) -> str:
    from steersman.api.text_files import errors_in_file, read_text

    if file != "-":
        return read_text(file)
    with errors_in_file(file):
        return sys.stdin.buffer.read().decode("utf-8-sig")


def _effective(
    loaded: SchedulerConfiguration,
    feature_gates: str | None,
    plugins: tuple[str, ...],
    file: str | None,
    strict: bool = False,
) -> tuple[EffectiveProfile, ...]:
    """The profiles that run. If `strict`, a disabled plugin must exist as well, which kube-scheduler does not mind."""
    from steersman.assembly.registry import register, with_enabled
    from steersman.config import DEFAULT_GATES, build, check_disabled
    from steersman.runtime.capabilities import capabilities_of

    registry, names = register(plugins)
    gates = parse_gates(feature_gates) or DEFAULT_GATES
    profiles = build(with_enabled(loaded, names), capabilities_of(registry), gates, file).profiles
    if strict:
        check_disabled(loaded, capabilities_of(registry), file)
    return profiles


def _profile_table(profile: EffectiveProfile) -> Iterator[str]:
    from steersman.config import ExtensionPoint
    from steersman.explain.tables import aligned

    percentage = profile.percentage_of_nodes_to_score
    scored = "" if percentage is None else f", scores {percentage or 100} % of the nodes"
    yield f"profile {profile.scheduler_name}{scored}"
    rows = [("EXTENSION POINT", "PLUGIN", "WEIGHT")]
    for point in profile.plugins:
        for index, name in enumerate(profile.at(point)):
            weight = str(profile.score_weights[name]) if point is ExtensionPoint.SCORE else ""
            rows.append(("" if index else point.value, name, weight))
    yield from (f"  {line}" for line in aligned(rows))
