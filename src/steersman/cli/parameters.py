# SPDX-License-Identifier: Apache-2.0
"""Options shared by several commands, and parsers for values: durations, switches, lists, feature
gates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from steersman.base import DEFAULT_EMULATED_VERSION, KUBE_SCHEDULER_RELEASES

if TYPE_CHECKING:
    from steersman.api import Duration, Validation
    from steersman.config import FeatureGates

CommandT = TypeVar("CommandT", bound=Callable[..., Any])
#: The values of a command's options by name.
Given = Mapping[str, Any]


_RENDERS: Final = "steersman.render"


def with_options(command: CommandT, options: Sequence[Callable[[CommandT], CommandT]]) -> CommandT:
    """Add these options to the command, in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def config_option(text: str) -> Callable[[CommandT], CommandT]:
    """Add `--config FILE`; "" by default."""
    return click.option("--config", "config_file", default="", type=click.Path(), metavar="FILE", help=text)


def file_option(name: str, text: str) -> Callable[[CommandT], CommandT]:
    """Add an option that names a file; "" by default."""
    return click.option(name, default="", type=click.Path(), metavar="FILE", help=text)


def output_option(*formats: str, text: str | None = "Format of the answer.") -> Callable[[CommandT], CommandT]:
    """Add `-o FORMAT`, by default the first one."""
    kind = click.Choice(formats)
    return click.option("-o", "--output", type=kind, default=formats[0], show_default=True, help=text)


def filename_option(text: str) -> Callable[[CommandT], CommandT]:
    """Add `-f PATH`, which may be repeated; `text` describes the files. `--render` renders charts
    and kustomizations."""
    files = click.option(
        "-f",
        "--filename",
        "files",
        multiple=True,
        type=click.Path(),
        callback=_input_files,
        metavar="PATH",
        help=f"{text} May be repeated.",
    )
    render = click.option(
        "--render",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_remember_render,
        help="Run `helm template` or `kubectl kustomize` for folders of -f that are charts or kustomizations.",
    )
    return lambda command: files(render(command))


def _remember_render(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.meta[_RENDERS] = value


def _input_files(ctx: click.Context, _: click.Parameter, paths: tuple[str, ...]) -> tuple[str, ...]:
    if not ctx.meta.get(_RENDERS):
        return paths
    from steersman.cli.rendering import rendered_files

    return rendered_files(ctx, paths)


def extenders_option(command: CommandT) -> CommandT:
    """Add `--extenders`."""
    text = "Call the extenders of the configuration, over HTTP and in real time. Default: they are not called."
    return click.option("--extenders", is_flag=True, help=text)(command)


MANIFESTS: Final = "Manifests or dumps, YAML or JSON, also .gz: a file, a directory, or - for standard input."


def plugin_option(text: str) -> Callable[[CommandT], CommandT]:
    """Add `--plugin FILE`, which may be repeated."""
    return click.option("--plugin", "plugins", multiple=True, type=click.Path(), metavar="FILE", help=text)


def trust_option(command: CommandT) -> CommandT:
    """Add `--trust-record-plugins`, for commands that recreate the scheduler of a record."""
    text = "Run the files with plugins that the record names. Only for records that you or your scheduler made."
    return click.option("--trust-record-plugins", "trusts_record", is_flag=True, help=text)(command)


def gates_option(command: CommandT) -> CommandT:
    """Add `--feature-gates` and `--emulated-version`; see `parse_gates`."""
    text = "Feature gates, as kube-scheduler takes them."
    gates = click.option("--feature-gates", metavar="A=true,B=false", help=text)
    return gates(version_option(command))


def version_option(command: CommandT) -> CommandT:
    """Add `--emulated-version`, "" if it is not given."""
    versions = " or ".join(KUBE_SCHEDULER_RELEASES)
    text = f"Decide as this version of kube-scheduler does: {versions}. Default: {DEFAULT_EMULATED_VERSION}."
    return click.option("--emulated-version", default="", metavar="VERSION", help=text)(command)


def seed_option(text: str) -> Callable[[CommandT], CommandT]:
    """Add `--seed NUMBER`; 0 by default."""
    return click.option("--seed", type=int, default=0, show_default=True, help=text)


SEED: Final = "Seed for the choice among equally good nodes."


def kubelet_policy_option(command: CommandT) -> CommandT:
    """Add `--kubelet-policy FILE`."""
    text = "A KubeletPolicy or stages of KWOK: how long pods take to start and run, and which fail."
    return click.option("--kubelet-policy", type=click.Path(), metavar="FILE", help=text)(command)


def until_option(text: str) -> Callable[[CommandT], CommandT]:
    """Add `--until DURATION`, in seconds; None by default."""
    return click.option("--until", callback=parse_seconds, metavar="DURATION", help=text)


def pods_to_explain_option(command: CommandT) -> CommandT:
    """Add `--explain POD`, which may be repeated."""
    text = "Print the verdicts and scores of all nodes and plugins for NAMESPACE/NAME (or NAME in default). May be repeated."
    return click.option("--explain", multiple=True, metavar="POD", help=text)(command)


def validation_options(command: CommandT) -> CommandT:
    """Add `--validate=strict|warn|ignore` and its short form `--strict`; see
    `chosen_validation`."""
    options: Sequence[Callable[[CommandT], CommandT]] = (
        click.option(
            "--validate",
            type=click.Choice(["strict", "warn", "ignore"]),
            help="Unknown fields are errors (strict), notes (warn, the default) or ignored (ignore). "
            "Values that an API server would refuse are errors, except with ignore.",
        ),
        click.option("--strict", is_flag=True, help="The same as --validate=strict."),
        click.option("--no-validate", is_flag=True, help="Continue with objects that an API server would refuse."),
    )
    return with_options(command, options)


def chosen_validation(given: Mapping[str, Any]) -> Validation:
    """Return the validation level selected by `--validate`, `--strict` and `--no-validate`
    together."""
    validate, strict = given["validate"], given["strict"]
    if given["no_validate"]:
        if strict or validate not in (None, "warn"):
            raise click.UsageError("--no-validate contradicts --strict and --validate.")
        return "lenient"
    if strict and validate not in (None, "strict"):
        raise click.UsageError(f"--strict and --validate={validate} contradict each other.")
    if strict or validate == "strict":
        return "strict"
    return "ignore" if validate == "ignore" else "warn"


def switch(name: str, text: str) -> Any:
    """Add a switch like Go's flags: `--name`, `--name=true` and `--name=false`; None by default."""
    return click.option(name, type=bool, is_flag=False, flag_value="true", metavar="[true|false]", help=text)


def parse_list(_: click.Context, __: click.Parameter, text: str) -> tuple[str, ...]:
    """Callback: split a value at commas."""
    return tuple(part for part in (piece.strip() for piece in text.split(",")) if part)


def parse_duration(_: click.Context, __: click.Parameter, text: str | None) -> Duration | None:
    """Callback: parse a duration in Go's format, as in configuration files."""
    if text is None:
        return None
    from steersman.api import Duration, DurationError

    try:
        return Duration.parse(text)
    except DurationError as error:
        raise click.BadParameter(f'{text!r} is not a duration; use for example "15s" or "1m30s"') from error


def parse_seconds(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """Callback: parse a duration in Go's format, `10m` or `1h30m`, or a number of seconds."""
    if text is None:
        return None
    seconds = _seconds(text)
    if seconds is None or not 0 <= seconds < math.inf:
        raise click.BadParameter(f'{text!r} is not a duration; use for example "30s", "10m" or "1h30m"')
    return seconds


def _seconds(text: str) -> float | None:
    from steersman.api import Duration, DurationError

    try:
        return float(text)
    except ValueError:
        pass
    try:
        return Duration.parse(text).seconds
    except DurationError:
        return None


def parse_gates(text: str | None, version: str) -> FeatureGates:
    """Return the gates of `--feature-gates` and `--emulated-version`. Raises `InputError`."""
    from steersman.config import FeatureGates

    return FeatureGates.parse(text or "", version)
