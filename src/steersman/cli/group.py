# SPDX-License-Identifier: Apache-2.0
"""The command `steersman` itself: its subcommands, and the exit codes of errors.

Every error is one line on standard error.
"""

from __future__ import annotations

from typing import Final

import click

from steersman.base import InputErrors, SteersmanError
from steersman.cli.bench import bench
from steersman.cli.completion import completion, print_version, version
from steersman.cli.config import config
from steersman.cli.conformance import conformance
from steersman.cli.doctor import doctor
from steersman.cli.examples import examples
from steersman.cli.explain import explain
from steersman.cli.mcp import mcp
from steersman.cli.output import ExitCode, SummaryGroup, say_error
from steersman.cli.plan import plan
from steersman.cli.progress import timed
from steersman.cli.record import history, replay
from steersman.cli.run import run
from steersman.cli.sandbox import sandbox
from steersman.cli.shadow import shadow
from steersman.cli.simulate import simulate
from steersman.cli.sweep import sweep

LONG_RUNNING: Final = ("run", "sandbox", "shadow", "mcp")
"""Commands that run until they are stopped, so that their duration is not shown."""


class ErrorLines(SummaryGroup):
    """Prints exceptions as one line, or with a traceback with `--debug`."""

    def invoke(self, ctx: click.Context) -> object:
        with timed(lambda: ctx.invoked_subcommand not in LONG_RUNNING):
            return self._invoke(ctx)

    def _invoke(self, ctx: click.Context) -> object:
        if ctx.params.get("debug"):
            return super().invoke(ctx)
        try:
            return super().invoke(ctx)
        except InputErrors as errors:
            for line in errors.lines():
                say_error(line)
            ctx.exit(ExitCode.BAD_INPUT)
        except SteersmanError as error:
            _exit_with_error(ctx, str(error), ExitCode.BAD_INPUT)
        except KeyboardInterrupt:
            _exit_with_error(ctx, "interrupted", ExitCode.INTERRUPTED)
        except RecursionError:
            _exit_with_error(ctx, "the input is nested too deeply", ExitCode.BAD_INPUT)
        except (OSError, MemoryError) as error:
            if isinstance(error, BrokenPipeError):
                raise
            _exit_with_error(ctx, _system_error(error), ExitCode.BAD_INPUT)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            text = f"internal error: {type(error).__name__}: {error} (steersman --debug … shows where)"
            _exit_with_error(ctx, text, ExitCode.FAULT)
        return None


def _system_error(error: OSError | MemoryError) -> str:
    """Return the operating system's message, after the file name if there is one."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error) or "out of memory"
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror


def _exit_with_error(ctx: click.Context, text: str, code: ExitCode) -> None:
    say_error(text)
    ctx.exit(code)


@click.group(cls=ErrorLines, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.option("--debug", is_flag=True, envvar="STEERSMAN_DEBUG", help="Show tracebacks and log messages.")
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_version,
    help="Print the version and exit.",
)
def main(debug: bool) -> None:
    """The Kubernetes scheduler as a Python package: kube-scheduler's decisions, with and without a cluster."""
    import logging

    if debug:
        from steersman.kube.observe import TextFormatter

        handler = logging.StreamHandler()
        handler.setFormatter(TextFormatter())
        logging.basicConfig(level=logging.DEBUG, handlers=[handler])
    else:
        logging.getLogger("steersman").addHandler(logging.NullHandler())


for command in (
    run,
    shadow,
    simulate,
    replay,
    history,
    plan,
    sweep,
    sandbox,
    explain,
    doctor,
    mcp,
    bench,
    conformance,
    config,
    examples,
    completion,
    version,
):
    main.add_command(command)
