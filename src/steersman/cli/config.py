# SPDX-License-Identifier: Apache-2.0
"""`steersman config`: checks, prints, compares and converts configurations."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from steersman.base import printable
from steersman.cli.output import ExitCode, SummaryGroup, say
from steersman.cli.parameters import gates_option, parse_gates, plugin_option

if TYPE_CHECKING:
    from steersman.config import EffectiveProfile, FeatureGates, SchedulerConfiguration

_plugin_option = plugin_option("A Python file with plugins that FILE may name.")


@click.group(cls=SummaryGroup)
def config() -> None:
    """Check, print, compare and convert scheduler configurations."""


@config.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE… [-- FLAGS…]")
@gates_option
@_plugin_option
def check(files: tuple[str, ...], feature_gates: str | None, emulated_version: str, plugins: tuple[str, ...]) -> None:
    """Check FILEs: decoding, defaults, validation, and whether every plugin exists, disabled ones
    too.

    Plugins that FILEs enable are created as by `run`: invalid arguments, missing methods and
    impossible events are problems too. FLAGS of `steersman run`, or kube-scheduler, are checked as
    well. Prints one line per problem and exits with 2 if there are any.
    """
    from steersman.config import ConfigError
    from steersman.scheduler.runtime import PluginError

    gates = parse_gates(feature_gates, emulated_version)
    first = next((index for index, file in enumerate(files) if file.startswith("--")), len(files))
    files, flags = files[:first], files[first:]
    problems = not _are_usable(flags) if flags else False
    for file in files:
        try:
            profiles = _effective(_load(file, gates), gates, plugins, file, strict=True)
        except ConfigError as error:
            problems = True
            say("\n".join(map(printable, error.lines)), err=True)
        except PluginError as error:
            problems = True
            say(printable(f"{file}: {error}"), err=True)
        else:
            names = ", ".join(profile.scheduler_name for profile in profiles)
            say(f"{file}: valid; profiles: {names}")
    if problems:
        click.get_current_context().exit(ExitCode.BAD_INPUT)


@config.command()
@click.argument("file", required=False, type=click.Path())
@click.option("--effective", is_flag=True, help="Print which plugins run at which extension point, and their weights.")
@click.option("--raw", is_flag=True, help="Print keys and passwords of extenders too.")
@gates_option
@_plugin_option
def show(
    file: str | None,
    effective: bool,
    raw: bool,
    feature_gates: str | None,
    emulated_version: str,
    plugins: tuple[str, ...],
) -> None:
    """Print FILE with all defaults, but without secrets; without FILE, the default configuration."""
    from steersman.config import dump_public_yaml, dump_yaml, with_extender_resources

    gates = parse_gates(feature_gates, emulated_version)
    loaded = _load(file, gates)
    if effective:
        lines: list[str] = []
        for profile in _effective(loaded, gates, plugins, file):
            lines += [*_profile_table(profile, loaded.percentage_of_nodes_to_score), ""]
        say("\n".join(lines[:-1]))
    else:
        completed = with_extender_resources(loaded)
        say((dump_yaml(completed) if raw else dump_public_yaml(completed)).rstrip("\n"))


@config.command()
@click.argument("before", type=click.Path())
@click.argument("after", type=click.Path())
@gates_option
@_plugin_option
def diff(before: str, after: str, feature_gates: str | None, emulated_version: str, plugins: tuple[str, ...]) -> None:
    """Print the differences between two configurations, defaults included; exit with 1 if there are
    any.

    Equivalent documents have no differences: other ways to write the same plugins and weights, or
    another order of arguments.
    """
    from steersman.config import diff as differences
    from steersman.scheduler.assembly import register
    from steersman.scheduler.runtime import capabilities_of

    gates = parse_gates(feature_gates, emulated_version)
    capabilities = capabilities_of(register(plugins)[0], gates)
    changes = differences(_load(before, gates), _load(after, gates), capabilities)
    for change in changes:
        say(printable(str(change)))
    if changes:
        click.get_current_context().exit(ExitCode.NO)


@config.command()
@click.argument("file", type=click.Path())
@click.option("--scheduler-name", default="default-scheduler", show_default=True, help="Name of the new profile.")
def convert(file: str, scheduler_name: str) -> None:
    """Convert a legacy Policy FILE (predicates and priorities) to a KubeSchedulerConfiguration.

    Settings without an equivalent are errors if they rejected nodes, and warnings otherwise.
    """
    from steersman.config import convert_policy, dump_yaml

    converted = convert_policy(_text(file), file, scheduler_name)
    for warning in converted.warnings:
        say(printable(f"Warning: {file}: {warning}"), err=True)
    say(dump_yaml(converted.configuration).rstrip("\n"))


def _are_usable(flags: tuple[str, ...]) -> bool:
    from steersman.cli.run import checked_command_line

    options, refused = checked_command_line(flags)
    for line in (*refused, *(f"Warning: {line}" for line in (options.ignored_flags if options else ()))):
        say(printable(line), err=True)
    if not refused:
        say("flags: valid")
    return not refused


def _load(file: str | None, gates: FeatureGates) -> SchedulerConfiguration:
    from steersman.config import default_configuration, load

    return default_configuration(gates) if file is None else load(_text(file), file, gates)


def _text(file: str) -> str:
    from steersman.api import errors_in_file, read_text

    if file != "-":
        return read_text(file)
    with errors_in_file(file):
        return sys.stdin.buffer.read().decode("utf-8-sig")


def _effective(
    loaded: SchedulerConfiguration,
    gates: FeatureGates,
    plugins: tuple[str, ...],
    file: str | None,
    strict: bool = False,
) -> tuple[EffectiveProfile, ...]:
    """Return the effective profiles. If `strict`, disabled plugins must exist as well, which
    kube-scheduler does not require, and every enabled plugin is created."""
    from steersman.base import InputError
    from steersman.config import build, check_disabled
    from steersman.scheduler.assembly import register, with_enabled
    from steersman.scheduler.runtime import capabilities_of, check_args
    from steersman.simulation import check_plugins

    registry, names = register(plugins)
    enabled = with_enabled(loaded, names)
    profiles = build(enabled, capabilities_of(registry, gates), gates, file).profiles
    if strict:
        check_disabled(loaded, capabilities_of(registry, gates), file)
        check_args(enabled, registry, file)
        check_plugins(enabled, gates, registry)
        if registry.notes:
            raise InputError(registry.notes[0])
    return profiles


def _profile_table(profile: EffectiveProfile, for_all_profiles: int | None) -> Iterator[str]:
    from steersman.base import aligned
    from steersman.config import ExtensionPoint

    percentage = profile.percentage_of_nodes_to_score
    percentage = for_all_profiles or None if percentage is None else percentage
    scored = "" if percentage is None else f", scores {percentage or 100} % of the nodes"
    yield f"profile {profile.scheduler_name}{scored}"
    rows = [("EXTENSION POINT", "PLUGIN", "WEIGHT")]
    for point in profile.plugins:
        for index, name in enumerate(profile.plugins_at(point)):
            weight = str(profile.score_weights[name]) if point is ExtensionPoint.SCORE else ""
            rows.append(("" if index else point.value, name, weight))
    yield from (f"  {line}" for line in aligned(rows))
