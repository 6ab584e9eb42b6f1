# SPDX-License-Identifier: Apache-2.0
"""`steersman run`: schedules a real cluster. Flags as kube-scheduler has them (`run_flags`, `run_serving_flags`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from steersman.cli.platforms import require_unix
from steersman.cli.run_flags import (
    client_flags,
    debugging_flags,
    election_flags,
    flag_values,
    record_options,
    scheduling_flags,
)
from steersman.cli.run_serving_flags import serving_flags, serving_options
from steersman.cli.run_unsupported import ignored_flags, other_flags, refused_flags

if TYPE_CHECKING:
    from steersman.run.app import RunOptions


@click.command()
@scheduling_flags
@serving_flags
@other_flags
@click.option("--shadow", is_flag=True, help="Schedule nothing: the same as `steersman shadow` with these files.")
def run(**given: Any) -> None:
    """Schedule the pods of a real cluster until SIGTERM or SIGINT.

    What is said by a flag goes before what the configuration file says. Exits with 0 when it was asked to end, with 1
    when it lost the lease or a second signal came.
    """
    require_unix("run")
    context = click.get_current_context()
    if refused := refused_flags(context):
        raise click.UsageError("\n".join(refused))
    if given["shadow"]:
        from steersman.cli.shadow import shadow
        from steersman.run.shadow import HOLD_SECONDS

        files = ("kubeconfig", "master", "config_file", "plugins", "feature_gates", "emulated_version")
        context.invoke(shadow, hold=HOLD_SECONDS, **{name: given[name] for name in files})
    import gc

    gc.disable()  # looking for garbage among what is being imported takes a tenth of the time
    from steersman.run.app import main

    gc.freeze()
    gc.enable()
    context.exit(main(run_options(context)))


def checked_command_line(flags: Sequence[str]) -> tuple[RunOptions | None, list[str]]:
    """Return what `run` with these flags would do, and a sentence for each flag that it would refuse; None if the rest of
    the command line cannot be read either. A leading program name is skipped, so that the command of a pod can be pasted."""
    from steersman.base import SteersmanError

    programs = next((index for index, flag in enumerate(flags) if flag.startswith("-")), len(flags))
    try:
        context = run.make_context("run", list(flags[programs:]))
        return run_options(context), refused_flags(context)
    except click.ClickException as error:
        return None, [error.format_message()]
    except SteersmanError as error:
        return None, [str(error)]


def run_options(context: click.Context) -> RunOptions:
    """Return what the command line of a `run` says, for `steersman.run.app`."""
    from steersman.kube.observe import LogFormat
    from steersman.run.app import RunOptions

    given = context.params
    return RunOptions(
        config_file=given["config_file"],
        kubeconfig=given["kubeconfig"],
        master=given["master"],
        feature_gates=given["feature_gates"],
        emulated_version=given["emulated_version"],
        election=election_flags(given),
        client=client_flags(given),
        debugging=debugging_flags(given),
        serving=serving_options(given),
        verbosity=given["verbosity"],
        log_format=LogFormat(given["logging_format"]),
        write_config_to=given["write_config_to"],
        plugin_files=given["plugins"],
        max_in_unschedulable=given["max_in_unschedulable"],
        record=record_options(given),
        flags=flag_values(context),
        ignored_flags=tuple(ignored_flags(context)),
    )
