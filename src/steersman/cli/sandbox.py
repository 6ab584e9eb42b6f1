# SPDX-License-Identifier: Apache-2.0
"""`steersman sandbox`: a cluster on this machine for kubectl and other clients."""

from __future__ import annotations

import asyncio
import logging
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from steersman.base import InputError
from steersman.cli.output import log_to_terminal, require_unix, say, say_note
from steersman.cli.parameters import (
    SEED,
    chosen_validation,
    config_option,
    file_option,
    filename_option,
    plugin_option,
    seed_option,
    validation_options,
    version_option,
)

if TYPE_CHECKING:
    from steersman.sandbox import Sandbox, SandboxOptions

DEFAULT_KUBECONFIG: Final = "sandbox.kubeconfig"


@click.command()
@filename_option("Manifests or dumps to begin with: a file, a directory, or - for standard input.")
@click.option(
    "--nodes", type=click.IntRange(0, 100_000), default=0, show_default=True, help="Number of nodes to create."
)
@file_option("--node-template", "A Node that is the template of these nodes.")
@file_option(
    "--kubelet-policy",
    "A KubeletPolicy or stages of KWOK: how long pods take to start and run. Default: a second to start and to stop.",
)
@config_option("A KubeSchedulerConfiguration (v1).")
@plugin_option("A Python file with plugins. May be repeated.")
@click.option(
    "--feature-gates", default="", metavar="A=true,B=false", help="Feature gates, as kube-scheduler takes them."
)
@version_option
@click.option(
    "--scheduler",
    default="",
    metavar="none|NAME",
    help="none: run no scheduler, to use another one. NAME: the schedulerName of the scheduler.",
)
@click.option("--controllers/--no-controllers", default=True, help="Run the controllers of kube-controller-manager.")
@click.option(
    "--bind-address",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on. Clients need the token on every address.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port of the API server. Default: that of the last run with --data if it is free, else any free one.",
)
@click.option(
    "--kubeconfig",
    default=DEFAULT_KUBECONFIG,
    show_default=True,
    type=click.Path(dir_okay=False),
    metavar="OUT",
    help="File to write for kubectl and other clients.",
)
@click.option("--web/--no-web", default=True, help="Serve the web page, on loopback.")
@click.option(
    "--web-port", type=click.IntRange(0, 65535), default=0, help="The port of the web page. Default: any free one."
)
@click.option("--open", "opens_page", is_flag=True, help="Open the web page in a browser.")
@click.option("--speed", default="real", show_default=True, metavar="real|60x|max", help="Speed of time.")
@click.option(
    "--data", default="", type=click.Path(file_okay=False), metavar="DIR", help="Store the cluster in this directory."
)
@seed_option(SEED)
@click.option(
    "--record", default="", type=click.Path(), metavar="DIR", help="Record inputs and decisions in this new directory."
)
@validation_options
def sandbox(**given: Any) -> None:
    """Run a cluster without containers, for kubectl and other clients, until Ctrl-C.

    Nodes and pods are simulated; the API, the controllers and the scheduler work as in a real cluster. It listens on loopback
    only. Without --data the cluster is gone when the command ends.
    """
    require_unix("sandbox")
    from steersman.sandbox import SandboxOptions
    from steersman.scheduler.host import parse_speed

    options = SandboxOptions(
        files=given["files"],
        nodes=given["nodes"],
        node_template=given["node_template"],
        kubelet_policy=given["kubelet_policy"],
        config_file=given["config_file"],
        plugins=given["plugins"],
        feature_gates=given["feature_gates"],
        emulated_version=given["emulated_version"],
        scheduler=given["scheduler"],
        bind_address=given["bind_address"],
        port=given["port"],
        kubeconfig=Path(given["kubeconfig"]),
        speed=parse_speed(given["speed"]),
        data=Path(given["data"]) if given["data"] else None,
        seed=given["seed"],
        record=given["record"],
        runs_controllers=given["controllers"],
        web_port=given["web_port"] if given["web"] else None,
        validate=chosen_validation(given),
    )
    if given["opens_page"] and not given["web"]:
        raise InputError("cannot be opened without it", field="--open", value="--no-web", hint="leave one of them out")
    log_to_terminal("steersman.scheduler.runtime")
    asyncio.run(_serve(options, given["opens_page"]))


async def _serve(options: SandboxOptions, opens_page: bool) -> None:
    """Run the sandbox until SIGINT or SIGTERM."""
    from steersman.run.app import ENDING, raise_open_files, signals_handled
    from steersman.sandbox import running_sandbox

    raise_open_files()
    logging.getLogger("steersman").addHandler(FaultNotes(logging.ERROR))
    stop = asyncio.Event()
    with signals_handled(dict.fromkeys(ENDING, stop.set)):
        async with running_sandbox(options) as running:
            _introduce(running)
            if opens_page and running.page is not None:
                await asyncio.to_thread(webbrowser.open, running.page.url)
            stopped = asyncio.ensure_future(stop.wait())
            await asyncio.wait((stopped, running.failure), return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            if running.failure.done():
                running.failure.result()


class FaultNotes(logging.Handler):
    """Prints one line per logged error. `--debug` also logs tracebacks."""

    def emit(self, record: logging.LogRecord) -> None:
        cause = record.exc_info[1] if record.exc_info else None
        why = f": {type(cause).__name__}: {cause}" if cause is not None else ""
        say_note(f"{record.getMessage()}{why} (`steersman --debug sandbox …` prints the traceback)")


def _introduce(running: Sandbox) -> None:
    for note in running.notes:
        say_note(note)
    say(f"The sandbox listens on {running.url}. Type in another terminal:")
    say("")
    say(f"  export KUBECONFIG={_absolute(running.kubeconfig)}")
    say("  kubectl get nodes")
    say("  kubectl create deployment web --image=nginx --replicas=3")
    say("")
    if running.page is not None:
        say(f"The page: {running.page.url}")
        say("")
    say("Ctrl-C ends it.")


def _absolute(path: Path | None) -> str:
    return "" if path is None else str(path.resolve())
