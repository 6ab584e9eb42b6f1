# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.upstream.integration`: the integration tests of a version, with kube-scheduler and with Steersman.

Fails unless every test that passes with kube-scheduler passes with Steersman.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.upstream.__main__ import OURS, REFERENCE, judge, table
from tests.upstream.integration.building import TestBinaries
from tests.upstream.integration.running import (
    Exclusion,
    load_exclusions,
    run_package,
    skip_pattern,
    without_excluded,
)
from tests.upstream.suite import PASSED, Spec

from steersman.base import KUBE_SCHEDULER_RELEASES
from steersman.base.errors import SteersmanError

MESSAGE_LENGTH = 300


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    folder = Path(options.folder or tempfile.mkdtemp(prefix="steersman-integration-"))
    print(f"logs below {folder}", flush=True)
    try:
        results = _run_all(folder, options)
    except SteersmanError as error:
        print(error, file=sys.stderr)
        return 1
    print(table(results))
    for row in load_exclusions(options.version):
        print(f"excluded: {row.what}: {row.reason}")
    return judge(results)


def _run_all(folder: Path, options: argparse.Namespace) -> Mapping[str, Sequence[Spec]]:
    binaries = TestBinaries.prepare(options.version)
    exclusions = load_exclusions(options.version)
    schedulers = (REFERENCE, OURS) if options.scheduler == "both" else (options.scheduler,)
    results: dict[str, list[Spec]] = {scheduler: [] for scheduler in schedulers}
    for package in options.packages or binaries.packages:
        skip = skip_pattern(package, exclusions)
        if skip is None:
            continue
        of_package = {}
        for scheduler in schedulers:
            began = time.monotonic()
            logs = folder / scheduler / package
            specs = run_package(binaries, package, logs, focus=options.focus, skip=skip, ours=scheduler == OURS)
            of_package[scheduler] = specs
            _report(scheduler, package, specs, time.monotonic() - began)
        left_out = _excluded(of_package, exclusions)
        for scheduler, specs in of_package.items():
            results[scheduler] += [spec for spec in specs if spec.name not in left_out]
    return results


def _excluded(results: Mapping[str, Sequence[Spec]], exclusions: Sequence[Exclusion]) -> set[str]:
    """Return the names of the tests that were skipped with Steersman, if a row gives the reason."""
    ours = results.get(OURS, ())
    left = {spec.name for spec in without_excluded(ours, exclusions)}
    return {spec.name for spec in ours if spec.name not in left}


def _report(scheduler: str, package: str, specs: Sequence[Spec], seconds: float) -> None:
    passed = sum(spec.state == PASSED for spec in specs)
    print(f"{scheduler}: {package}: {passed} of {len(specs)} tests passed in {seconds:.0f} s", flush=True)
    for spec in specs:
        if spec.state != PASSED:
            print(f"  {spec.state}: {spec.name}: {spec.message.strip()[:MESSAGE_LENGTH]}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make upstream-integration INTEGRATION=…", description="upstream's integration tests of the scheduler"
    )
    parser.add_argument("packages", nargs="*", help="packages below test/integration/scheduler; all by default")
    parser.add_argument("--version", choices=list(KUBE_SCHEDULER_RELEASES), default="1.37")
    parser.add_argument("--scheduler", choices=[REFERENCE, OURS, "both"], default="both")
    parser.add_argument("--focus", default="", help="pattern of names, as for `go test -run`")
    parser.add_argument("--folder", help="for logs; a new one otherwise")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
