# SPDX-License-Identifier: Apache-2.0
"""The command `steersman` itself: its subcommands, and what becomes of errors.

Every error is one line on standard error. Exit codes: 0 all is well, 1 the answer is no (differences, pods that failed), 2
the input cannot be used, 3 Steersman itself is at fault, 4 a simulation did not come to rest. Of `explain`, 3 says that a pod
is pending, and 5 that Steersman itself is at fault.
"""

from __future__ import annotations

from typing import Final

import click

from steersman.cli.bench import bench
from steersman.cli.completion import completion
from steersman.cli.config import config
from steersman.cli.conformance import conformance
from steersman.cli.doctor import doctor
from steersman.cli.examples import examples
from steersman.cli.explain import explain
from steersman.cli.mcp import mcp
from steersman.cli.output import SummaryGroup, say_error
from steersman.cli.plan import plan
from steersman.cli.progress import timed
from steersman.cli.record import history, replay
from steersman.cli.run import run
from steersman.cli.sandbox import sandbox
from steersman.cli.shadow import shadow
from steersman.cli.simulate import simulate
from steersman.cli.sweep import sweep
from steersman.cli.version import print_version, version
from steersman.errors import SteersmanError

BAD_INPUT: Final = 2
INTERNAL: Final = 3
INTERNAL_OF_EXPLAIN: Final = 5
EXPLAINS: Final = ("explain", "why")
"""The commands that say with 3 that a pod is pending."""
GOES_ON: Final = ("run", "sandbox", "shadow", "mcp")
"""The commands that are meant to take their time."""


class ErrorLines(SummaryGroup):
    """Turns exceptions into lines, unless `--debug` asks for tracebacks."""

    def invoke(self, ctx: click.Context) -> object:
        with timed(lambda: ctx.invoked_subcommand not in GOES_ON):
            return self._invoke(ctx)

    def _invoke(self, ctx: click.Context) -> object:
        if ctx.params.get("debug"):
            return super().invoke(ctx)
        try:
            return super().invoke(ctx)
        except SteersmanError as error:
            _say(ctx, str(error), BAD_INPUT)
        except RecursionError:
            _say(ctx, "the input is nested too deeply", BAD_INPUT)
        except (OSError, MemoryError) as error:
            if isinstance(error, BrokenPipeError):
                raise
            _say(ctx, str(error) or "out of memory", BAD_INPUT)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            text = f"internal error: {type(error).__name__}: {error} (steersman --debug … shows where)"
            _say(ctx, text, INTERNAL_OF_EXPLAIN if ctx.invoked_subcommand in EXPLAINS else INTERNAL)
        return None


def _say(ctx: click.Context, text: str, code: int) -> None:
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
        from steersman.observe.logs import TextFormatter

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
