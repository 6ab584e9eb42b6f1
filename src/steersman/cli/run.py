# SPDX-License-Identifier: Apache-2.0
"""`steersman run`: schedules a real cluster. Flags as kube-scheduler has them (`run_flags`, `run_serving_flags`)."""

from __future__ import annotations

from typing import Any

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
from steersman.cli.run_unsupported import unsupported_flags


@click.command()
@scheduling_flags
@serving_flags
@unsupported_flags
@click.option("--shadow", is_flag=True, help="Schedule nothing: the same as `steersman shadow` with these files.")
def run(**given: Any) -> None:
    """Schedule the pods of a real cluster until SIGTERM or SIGINT.

    What is said by a flag goes before what the configuration file says. Exits with 0 when it was asked to end, with 1
    when it lost the lease or a second signal came.
    """
    require_unix("run")
    if given["shadow"]:
        from steersman.cli.shadow import shadow
        from steersman.shadow.program import HOLD_SECONDS

        files = ("kubeconfig", "master", "config_file", "plugins", "feature_gates")
        click.get_current_context().invoke(shadow, hold=HOLD_SECONDS, **{name: given[name] for name in files})
    import gc

    gc.disable()  # looking for garbage among what is being imported takes a tenth of the time
    from steersman.app import RunOptions, main
    from steersman.observe import LogFormat

    gc.freeze()
    gc.enable()
    options = RunOptions(
        config_file=given["config_file"],
        kubeconfig=given["kubeconfig"],
        master=given["master"],
        feature_gates=given["feature_gates"],
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
        flags=flag_values(click.get_current_context()),
    )
    click.get_current_context().exit(main(options))
