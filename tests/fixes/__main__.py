# SPDX-License-Identifier: Apache-2.0
"""`make fixes-check`: finds and judges the fixes of generated pending pods, and counts them."""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections import Counter

from tests.fixes.judgement import Judgement, outcome_at_rest
from tests.fixes.pending_pods import pending_pod


def main() -> int:
    """Exits with 1 if a pod has no fix, or a fix does not help or can be smaller."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=300, help="so many pods are generated")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one")
    options = parser.parse_args()
    began = time.monotonic()
    judgements = []
    for seed in range(options.first, options.first + options.pods):
        judgement = outcome_at_rest(pending_pod(seed))
        judgements.append(judgement)
        for complaint in judgement.complaints:
            print(f"seed {seed}: {complaint}", flush=True)
        gc.collect()  # simulations refer to themselves
    _report(judgements, time.monotonic() - began)
    return 1 if any(judgement.complaints for judgement in judgements) else 0


def _report(judgements: list[Judgement], seconds: float) -> None:
    reasons = Counter(reason for judgement in judgements for reason in judgement.case.obstacles)
    kinds = Counter(fix["kind"] for judgement in judgements for fix in judgement.fixes)
    print("PODS  BECAUSE OF")
    for reason, count in sorted(reasons.items()):
        print(f"{count:4}  {reason}")
    print("FIXES KIND")
    for kind, count in kinds.most_common():
        print(f"{count:4}  {kind}")
    with_fix = sum(bool(judgement.fixes) for judgement in judgements)
    smaller = sum(judgement.smaller for judgement in judgements)
    complaints = sum(len(judgement.complaints) for judgement in judgements)
    print(
        f"{len(judgements)} pending pods, {with_fix} with a fix; {kinds.total()} fixes applied and simulated; "
        f"{smaller} smaller ones tried in vain; {complaints} complaints; {seconds:.0f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
