# SPDX-License-Identifier: Apache-2.0
"""Options of several commands, and values that need more than a string: durations, switches, lists, feature gates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from steersman.api.field_check import Validation
    from steersman.config import Duration, FeatureGates

CommandT = TypeVar("CommandT", bound=Callable[..., Any])
#: The values of a command's options by name.
Given = Mapping[str, Any]


def with_options(command: CommandT, options: Sequence[Callable[[CommandT], CommandT]]) -> CommandT:
    """The command with these options, in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def config_option(text: str) -> Callable[[CommandT], CommandT]:
    """`--config FILE`; "" where nothing is said."""
    return click.option("--config", "config_file", default="", type=click.Path(), metavar="FILE", help=text)


def filename_option(text: str) -> Callable[[CommandT], CommandT]:
    """`-f PATH`, as often as one likes; `text` says what may be there."""
    return click.option(
        "-f", "--filename", "files", multiple=True, type=click.Path(), metavar="PATH", help=f"{text} May be repeated."
    )


def extenders_option(command: CommandT) -> CommandT:
    """`--extenders`."""
    text = "Ask the extenders of the configuration, over HTTP and in real time. Default: they are left out."
    return click.option("--extenders", is_flag=True, help=text)(command)


MANIFESTS: Final = "Manifests or dumps, YAML or JSON, also .gz: a file, a directory, or - for standard input."


def plugin_option(text: str) -> Callable[[CommandT], CommandT]:
    """`--plugin FILE`, as often as one likes."""
    return click.option("--plugin", "plugins", multiple=True, type=click.Path(), metavar="FILE", help=text)


def trust_option(command: CommandT) -> CommandT:
    """`--trust-record-plugins`, of commands that make the scheduler of a record again."""
    text = "Run the files with plugins that the record names. Only for records that you or your scheduler made."
    return click.option("--trust-record-plugins", "trusts_record", is_flag=True, help=text)(command)


def gates_option(command: CommandT) -> CommandT:
    """`--feature-gates`; see `parse_gates`."""
    text = "Feature gates, as kube-scheduler takes them."
    return click.option("--feature-gates", metavar="A=true,B=false", help=text)(command)


def seed_option(text: str) -> Callable[[CommandT], CommandT]:
    """`--seed NUMBER`, 0 where nothing is said."""
    return click.option("--seed", type=int, default=0, show_default=True, help=text)


SEED: Final = "Decides among equally good nodes."


def kubelet_policy_option(command: CommandT) -> CommandT:
    """`--kubelet-policy FILE`."""
    text = "A KubeletPolicy: how long pods start and run, which fail, and the like."
    return click.option("--kubelet-policy", type=click.Path(), metavar="FILE", help=text)(command)


def until_option(text: str) -> Callable[[CommandT], CommandT]:
    """`--until DURATION`, in seconds; None where nothing is said."""
    return click.option("--until", callback=parse_seconds, metavar="DURATION", help=text)


def pods_to_explain_option(command: CommandT) -> CommandT:
    """`--explain POD`, as often as one likes."""
    text = "Print what nodes and plugins say of the pod NAMESPACE/NAME (or NAME in default). May be repeated."
    return click.option("--explain", multiple=True, metavar="POD", help=text)(command)


def validation_options(command: CommandT) -> CommandT:
    """`--validate=strict|warn|ignore` and its short form `--strict`; see `chosen_validation`."""
    options: Sequence[Callable[[CommandT], CommandT]] = (
        click.option(
            "--validate",
            type=click.Choice(["strict", "warn", "ignore"]),
            help="What to do about fields that a kind does not have: refuse them, tell them (the default) or be silent.",
        ),
        click.option("--strict", is_flag=True, help="The same as --validate=strict."),
    )
    return with_options(command, options)


def chosen_validation(validate: str | None, strict: bool) -> Validation:
    """The validation that `--validate` and `--strict` ask for together."""
    if strict and validate not in (None, "strict"):
        raise click.UsageError(f"--strict and --validate={validate} contradict each other.")
    if strict or validate == "strict":
        return "strict"
    return "ignore" if validate == "ignore" else "warn"


def switch(name: str, text: str) -> Any:
    """A switch as Go's flags are: `--name`, `--name=true` and `--name=false`; None where nothing is said."""
    return click.option(name, type=bool, is_flag=False, flag_value="true", metavar="[true|false]", help=text)


def parse_list(_: click.Context, __: click.Parameter, text: str) -> tuple[str, ...]:
    """A callback: parts between commas."""
    return tuple(part for part in (piece.strip() for piece in text.split(",")) if part)


def parse_duration(_: click.Context, __: click.Parameter, text: str | None) -> Duration | None:
    """A callback: a duration as Go writes it; what a configuration file would take."""
    if text is None:
        return None
    from steersman.config import Duration, DurationError

    try:
        return Duration.parse(text)
    except DurationError as error:
        raise click.BadParameter(f'{text!r} is not a duration; use for example "15s" or "1m30s"') from error


def parse_seconds(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """A callback: a duration as Go writes it, `10m` or `1h30m`, or a plain number of seconds."""
    if text is None:
        return None
    seconds = _seconds(text)
    if seconds is None or not 0 <= seconds < math.inf:
        raise click.BadParameter(f'{text!r} is not a duration; use for example "30s", "10m" or "1h30m"')
    return seconds


def _seconds(text: str) -> float | None:
    from steersman.config import Duration, DurationError

    try:
        return float(text)
    except ValueError:
        pass
    try:
        return Duration.parse(text).seconds
    except DurationError:
        return None


def parse_gates(text: str | None) -> FeatureGates | None:
    """The value of `--feature-gates`; raises `InputError`."""
    if text is None:
        return None
    from steersman.config import FeatureGates

    return FeatureGates.parse(text)
