# SPDX-License-Identifier: Apache-2.0
"""`steersman examples`: bundled manifests, plugins and configurations.

An installed package has them in `steersman/example_files`, a clone in its folder `examples`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

import click

from steersman.base import InputError
from steersman.cli.output import SummaryGroup, say, terminal_width
from steersman.cli.parameters import CommandT

_INSTALLED: Final = Path(__file__).parents[1] / "example_files"
_OF_A_CLONE: Final = Path(__file__).parents[3] / "examples"
_LEFT_OUT: Final = "__pycache__"
_MANIFESTS: Final = (".yaml", ".yml", ".json")
_CONFIGURATION: Final = "config"
_SCENARIO: Final = "scenario.yaml"
_SWEEP: Final = "sweep.yaml"
_FLAGS: Final = "flags.txt"
_CLUSTER: Final = "cluster.yaml"


def complete_example(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Complete the names of examples in shells."""
    return [name for name in _found() if name.startswith(incomplete)]


def example_option(text: str) -> Callable[[CommandT], CommandT]:
    """`--example NAME`."""
    return click.option("--example", metavar="NAME", shell_complete=complete_example, help=text)


@click.group(cls=SummaryGroup, invoke_without_command=True, subcommand_metavar="[COMMAND] [ARGS]...")
@click.pass_context
def examples(context: click.Context) -> None:
    """List and copy the examples that are part of Steersman."""
    if context.invoked_subcommand is None:
        context.invoke(list_examples)


@examples.command("list")
def list_examples() -> None:
    """Print the names and descriptions of the examples."""
    from steersman.base import aligned

    rows = [("NAME", "ABOUT"), *((name, _title(folder)) for name, folder in _found().items())]
    say("\n".join(aligned(rows, width=terminal_width())))


@examples.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME…", shell_complete=complete_example)
@click.option(
    "--to",
    "target",
    default=".",
    type=click.Path(),
    metavar="DIR",
    help="Target folder; default: the working directory.",
)
def copy(names: tuple[str, ...], target: str) -> None:
    """Copy examples into a folder of their name. Existing files are not overwritten."""
    for name, folder in [(name, example_folder(name)) for name in names]:
        _copy(folder, Path(target) / name)


def example_folder(name: str) -> Path:
    """Return the folder of an example. Raises InputError if it does not exist."""
    found = _found()
    if name not in found:
        from difflib import get_close_matches

        close = get_close_matches(name, found, 1)
        hint = f'did you mean "{close[0]}"?' if close else f"there are: {', '.join(found)}"
        raise InputError("there is no such example", value=name, hint=hint)
    return found[name]


class ExampleFiles(NamedTuple):
    """The files of an example: manifests by name, plugins, a configuration, if it has one, and the
    values of flags by name."""

    manifests: list[str]
    plugins: list[str]
    configuration: str | None
    flags: Mapping[str, str] = MappingProxyType({})

    @property
    def feature_gates(self) -> str:
        return self.flags.get("feature-gates", "")

    @property
    def emulated_version(self) -> str:
        return self.flags.get("emulated-version", "")


def scenario_of(name: str) -> str | None:
    """Return the scenario of an example, if it has one. Raises InputError for an unknown
    example."""
    path = example_folder(name) / _SCENARIO
    return str(path) if path.exists() else None


def sweep_of(name: str) -> str:
    """Return the sweep of an example. Raises InputError if it has none."""
    path = example_folder(name) / _SWEEP
    if not path.exists():
        raise InputError("has no sweep", object=f"example {name}", hint=_usage(name))
    return str(path)


def check_can_be_simulated(name: str) -> None:
    """Raise `InputError`, with the command of its README, for an example without a cluster."""
    folder = example_folder(name)
    if not (folder / _CLUSTER).exists() and not (folder / _SCENARIO).exists():
        raise InputError("has no cluster to simulate", object=f"example {name}", hint=_usage(name))


def _usage(name: str) -> str:
    """Return how to run an example: the first runnable command in its README, and the command that
    copies its files."""
    lines = (example_folder(name) / "README.md").read_text(encoding="utf-8").splitlines()
    commands = (line.strip().removeprefix("$ ") for line in lines)
    copy = "steersman examples copy"
    found = next((line for line in commands if line.startswith("steersman ") and not line.startswith(copy)), "")
    if not found:
        return f"see its README: `{copy} {name}`"
    paths = {word.split("/")[0] for word in found.split()}
    needed = " ".join(example for example in _found() if example in paths)
    return f"use `{found}`" if f"--example {name}" in found else f"use `{copy} {needed or name}`, then `{found}`"


def files_of(name: str) -> ExampleFiles:
    """Return the files of an example. Raises InputError if it has nothing to simulate."""
    files = sorted(example_folder(name).iterdir())
    manifests = [str(path) for path in files if path.suffix in _MANIFESTS and path.stem != _CONFIGURATION]
    if not manifests:
        raise InputError("has no cluster to simulate", object=f"example {name}", hint="see `steersman examples copy`")
    configuration = next((str(path) for path in files if path.stem == _CONFIGURATION), None)
    plugins = [str(path) for path in files if path.suffix == ".py"]
    return ExampleFiles(manifests, plugins, configuration, _flags(example_folder(name) / _FLAGS))


def _flags(file: Path) -> dict[str, str]:
    """Return the flags of an example: lines such as `--feature-gates=A=true`."""
    lines = file.read_text(encoding="utf-8").split() if file.exists() else []
    pairs = (line.removeprefix("--").partition("=") for line in lines)
    return {name: value for name, _, value in pairs}


def _found() -> dict[str, Path]:
    root = _INSTALLED if _INSTALLED.is_dir() else _OF_A_CLONE
    folders = (path for path in root.iterdir() if path.is_dir() and path.name != _LEFT_OUT)
    return {folder.name: folder for folder in sorted(folders)}


def _title(folder: Path) -> str:
    """Return the first heading of its README."""
    readme = folder / "README.md"
    lines = readme.read_text(encoding="utf-8").splitlines() if readme.exists() else []
    return next((line.lstrip("# ") for line in lines if line.startswith("# ")), "")


def _copy(folder: Path, target: Path) -> None:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and _LEFT_OUT not in path.parts]
    for path in files:
        copied = target / path.relative_to(folder)
        if copied.exists():
            raise InputError("exists already and is not written over", file=str(copied), hint="use --to DIR")
    for path in files:
        copied = target / path.relative_to(folder)
        copied.parent.mkdir(parents=True, exist_ok=True)
        copied.write_bytes(path.read_bytes())
        say(f"wrote {copied}")
