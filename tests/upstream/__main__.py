# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.upstream`, which is `make upstream-e2e`: upstream's tests of scheduling with both schedulers.

Fails unless every spec that passes with kube-scheduler passes with Steersman. With `--sandbox`, which is
`make sandbox-conformance`, it runs conformance specs on a sandbox, and fails unless all pass.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.upstream.sandbox_conformance import GROUPS, render, run_groups
from tests.upstream.suite import FOCUS, PASSED, SCHEDULERS, SKIP, Spec, run_suite, worse_than

from steersman.base.errors import SteersmanError
from steersman.testing.control_plane import Binaries

REFERENCE, OURS = SCHEDULERS
MESSAGE_LENGTH = 500


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    folder = Path(options.folder or tempfile.mkdtemp(prefix="steersman-upstream-"))
    print(f"logs and reports below {folder}", flush=True)
    try:
        if options.sandbox:
            return _run_on_sandbox(folder, options)
        results = _run_all(folder, options)
    except SteersmanError as error:
        print(error, file=sys.stderr)
        return 1
    print(table(results))
    return judge(results)


def table(results: Mapping[str, Sequence[Spec]]) -> str:
    """A line for each spec, with its state under each scheduler."""
    names = sorted({spec.name for specs in results.values() for spec in specs})
    states = {scheduler: {spec.name: spec.state for spec in specs} for scheduler, specs in results.items()}
    header = "".join(f"{scheduler:<16}" for scheduler in results)
    lines = ["".join(f"{states[scheduler].get(name, '-'):<16}" for scheduler in results) + name for name in names]
    return "\n".join([header, *lines])


def _run_on_sandbox(folder: Path, options: argparse.Namespace) -> int:
    focus = "" if options.focus == FOCUS else options.focus
    groups = [group for group in GROUPS if options.group in (group, None)]
    results = run_groups(Binaries.find(), folder, groups, focus)
    for result in results:
        for spec in result.failed:
            print(f"{spec.name}: {spec.message.strip()[:MESSAGE_LENGTH]}", file=sys.stderr)
    print(render(results))
    return 1 if any(result.failed for result in results) else 0


def _run_all(folder: Path, options: argparse.Namespace) -> dict[str, list[Spec]]:
    binaries = Binaries.find()
    results = {}
    for scheduler in SCHEDULERS if options.scheduler == "both" else (options.scheduler,):
        began = time.monotonic()
        specs = run_suite(binaries, scheduler, folder / scheduler, options.focus, options.skip)
        results[scheduler] = specs
        passed = sum(spec.state == PASSED for spec in specs)
        print(f"{scheduler}: {passed} of {len(specs)} specs passed in {time.monotonic() - began:.0f} s", flush=True)
        for spec in specs:
            if spec.state != PASSED:
                print(f"  {spec.state}: {spec.name}: {spec.message.strip().splitlines()[:1]}", flush=True)
    return results


def judge(results: Mapping[str, Sequence[Spec]]) -> int:
    if REFERENCE not in results or OURS not in results:
        return 0
    worse = worse_than(results[REFERENCE], results[OURS])
    for name in worse:
        print(f"passes with {REFERENCE} and not with {OURS}: {name}", file=sys.stderr)
    if not worse:
        print(f"every spec that passes with {REFERENCE} passes with {OURS}")
    return 1 if worse else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make upstream-e2e UPSTREAM=…", description="upstream's tests of scheduling")
    parser.add_argument("--scheduler", choices=[*SCHEDULERS, "both"], default="both")
    parser.add_argument("--sandbox", action="store_true", help="run conformance specs on a sandbox instead")
    parser.add_argument("--group", choices=GROUPS, help="with --sandbox: run only the specs of this group")
    parser.add_argument("--focus", default=FOCUS, help="regular expression over the names of specs")
    parser.add_argument("--skip", default=SKIP, help="regular expression of specs to leave out")
    parser.add_argument("--folder", help="for logs and reports; a new one otherwise")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
