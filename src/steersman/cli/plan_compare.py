# SPDX-License-Identifier: Apache-2.0
"""`steersman plan compare`: the options that define a configuration, and their parsing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from steersman.base import InputError
from steersman.cli.examples import ExampleFiles
from steersman.cli.parameters import Given, chosen_validation
from steersman.cli.plan_inputs import example_gates, example_of, plan_options_without_config, sources_of, stdin_of
from steersman.cli.plan_output import conclude
from steersman.cli.progress import working

if TYPE_CHECKING:
    from steersman.plan import Variant

DEFAULT: Final = "default"


@click.command()
@click.option(
    "--config",
    "configs",
    multiple=True,
    required=True,
    metavar="[NAME=]FILE",
    help="A KubeSchedulerConfiguration, or `default`. At least two; others are compared with the first.",
)
@click.option("--gates-of", multiple=True, metavar="NAME:A=true,…", help="Feature gates of one configuration.")
@click.option(
    "--plugin-of", multiple=True, metavar="NAME:FILE", help="A Python file with plugins of one configuration."
)
@click.option("--seeds", type=click.IntRange(1), default=20, show_default=True, help="Number of seeds, from --seed on.")
@click.option("--reschedule", is_flag=True, help="Place every pod again, including pods that have a node.")
@click.option("--workers", type=click.IntRange(1), metavar="N", help="Number of processes. Default: one per core.")
@plan_options_without_config
def compare(
    configs: tuple[str, ...],
    gates_of: tuple[str, ...],
    plugin_of: tuple[str, ...],
    seeds: int,
    reschedule: bool,
    workers: int | None,
    **given: Any,
) -> None:
    """Compare scheduler configurations on the same workload.

    Each configuration runs with every seed. Means come with 95 % intervals over the seeds (Student's t), differences
    are of pairs with the same seed. Exits with 1 if a configuration leaves more pods pending than the first one.
    """
    from steersman import plan as questions

    example = example_of(given)
    variants = _variants(configs, gates_of, plugin_of, given, example)
    total = seeds * len(variants)
    with working("comparing") as show:
        answer = questions.compare(
            sources_of(given, example),
            variants,
            seeds=seeds,
            first_seed=given["seed"],
            reschedule=reschedule,
            kubelets=given["kubelet_policy"],
            workers=workers,
            stdin=stdin_of(given),
            validate=chosen_validation(given),
            on_done=lambda done: show(f"{done} of {total} runs"),
        )
    conclude(answer, given)


def _variants(
    configs: tuple[str, ...], gates: tuple[str, ...], plugins: tuple[str, ...], given: Given, example: ExampleFiles
) -> list[Variant]:
    from steersman.plan import Variant

    files = dict(_named(text) for text in configs)
    if len(files) < len(configs):
        raise InputError("two configurations have one name", value=", ".join(configs), hint="write NAME=FILE")
    own_gates = dict(_named_value("--gates-of", text, files) for text in gates)
    own_plugins = [_named_value("--plugin-of", text, files) for text in plugins]
    common = (*example.plugins, *given["plugins"])
    return [
        Variant(
            name,
            None if file == DEFAULT else file,
            (*common, *(path for owner, path in own_plugins if owner == name)),
            example_gates(given, example, own_gates.get(name, "")),
            given["extenders"],
        )
        for name, file in files.items()
    ]


def _named(text: str) -> tuple[str, str]:
    """Split `packed=most.yaml` into name and file; the name defaults to that of the file."""
    name, equals, file = text.partition("=")
    return (name, file) if equals and not Path(text).exists() else (Path(text).stem, text)


def _named_value(option: str, text: str, names: dict[str, str]) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or name not in names:
        hint = f"write NAME:…, where NAME is one of {', '.join(names)}"
        raise InputError("names no configuration", object=option, value=text, hint=hint)
    return name, value
