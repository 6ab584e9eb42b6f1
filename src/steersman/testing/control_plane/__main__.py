# SPDX-License-Identifier: Apache-2.0
"""`python -m steersman.testing.control_plane [--version 1.37] [PROGRAM…]`: prints the binaries'
folder.

Prints an error if one is missing. Used by `make e2e`; other programs than etcd, kube-apiserver and
kube-scheduler must be named.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from steersman.base import KUBE_SCHEDULER_RELEASES, SteersmanError
from steersman.testing.control_plane.binaries import DEFAULT, Binaries


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m steersman.testing.control_plane")
    parser.add_argument("--version", choices=KUBE_SCHEDULER_RELEASES, default=DEFAULT)
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args(arguments)
    try:
        found = Binaries.find(options.version)
        for name in options.programs:
            found.program(name)
        print(found.folder)
    except SteersmanError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
