# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.sandbox [PODS [NODES]]`: 20,000 pods on 1,000 nodes unless told otherwise, watched by three clients."""

from __future__ import annotations

import asyncio
import sys

from benchmarks.sandbox.scale_up import scale_up


def main() -> None:
    pods, nodes = (*map(int, sys.argv[1:]), *(20_000, 1_000)[len(sys.argv) - 1 :])
    result = asyncio.run(scale_up(pods, nodes))
    print(result)
    if result.differing:
        sys.exit(f"watches {result.differing} did not see what was written")


if __name__ == "__main__":
    main()
