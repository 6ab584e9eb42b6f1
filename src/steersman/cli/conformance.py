# SPDX-License-Identifier: Apache-2.0
"""`steersman conformance`: compares decisions with golden bundles, per area, and shows the first
differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from steersman.cli.output import ExitCode, say, terminal_width
from steersman.cli.progress import working

if TYPE_CHECKING:
    from steersman.testing.conformance import Agreement

_SHOWN_CASES: Final = 5
"""Maximum number of differing cases that are described by default."""
_SHOWN_LINES: Final = 4
"""Maximum number of lines per case."""
_VERSION: Final = "The version of kube-scheduler that lines are of if they name none. Default: 1.36."


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE…")
@click.option("--scalar", is_flag=True, help="Use the scalar engine instead of the columnar one.")
@click.option("--area", "areas", multiple=True, metavar="AREA", help="Only the cases of this area. May be repeated.")
@click.option("--emulated-version", default="", metavar="VERSION", help=_VERSION)
@click.option("-v", "--verbose", is_flag=True, help="Describe every difference, in full.")
def conformance(
    files: tuple[str, ...], scalar: bool, areas: tuple[str, ...], emulated_version: str, verbose: bool
) -> None:
    """Run golden bundles and compare every decision with kube-scheduler's.

    FILEs hold scheduling scenarios, queue traces or configuration documents, one JSON document per
    line, compressed or not. A line that names no version of kube-scheduler is of 1.36, or of
    --emulated-version. Prints the agreement per area and exits with 1 on any difference.
    """
    from steersman.config import parse_version
    from steersman.testing.conformance import UNNAMED_VERSION, count, readable, run_bundle

    version = str(parse_version(emulated_version or UNNAMED_VERSION))

    agreements: dict[str, Agreement] = {}
    differing: list[list[str]] = []
    with working("comparing") as show:
        for number, file in enumerate(files, start=1):
            for cases, case in enumerate(run_bundle(file, scalar=scalar, areas=areas, version=version), start=1):
                show(f"file {number} of {len(files)}, case {cases}")
                count(agreements, case)
                if not case.agrees:
                    differing.append(list(readable(case, abridged=not verbose)))
    _print_table(list(agreements.values()))
    _print_differences(differing, verbose)
    if not all(agreement.is_full for agreement in agreements.values()):
        click.get_current_context().exit(ExitCode.NO)


def _print_table(agreements: list[Agreement]) -> None:
    from steersman.base import aligned

    rows = [("AREA", "CASES", "AGREE", "CHECKS", "")]
    for agreement in agreements:
        share = f"{100 * agreement.agreeing / agreement.cases:.1f} %"
        for level, agreeing in agreement.by_level.items():
            share += f"{';' if level == 1 else ','} level {level}: {agreeing}"
        rows.append((agreement.area, str(agreement.cases), str(agreement.agreeing), str(agreement.checks), share))
    if agreements:
        say("\n".join(aligned(rows, 1, terminal_width())))
    cases, agreeing = sum(a.cases for a in agreements), sum(a.agreeing for a in agreements)
    say(f"{agreeing} of {cases} cases agree" if cases else "no cases")


def _print_differences(differing: list[list[str]], verbose: bool) -> None:
    shown = differing if verbose else differing[:_SHOWN_CASES]
    for lines in shown:
        say()
        say("\n".join(lines if verbose else lines[:_SHOWN_LINES]))
        if not verbose and len(lines) > _SHOWN_LINES:
            say(f"… and {len(lines) - _SHOWN_LINES} more differences in this case")
    if len(shown) < len(differing):
        say(f"\n… and {len(differing) - len(shown)} more cases that differ; -v shows all")
