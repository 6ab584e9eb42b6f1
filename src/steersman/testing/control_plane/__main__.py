# SPDX-License-Identifier: Apache-2.0
"""`python -m steersman.testing.control_plane [PROGRAM…]`: prints the folder of the programs, or what is missing.

Used by `make e2e`; programs besides etcd, kube-apiserver and kube-scheduler are looked for when they are named.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from steersman.errors import SteersmanError
from steersman.testing.control_plane.binaries import Binaries


def main(programs: Sequence[str]) -> int:
    try:
        found = Binaries.find()
        for name in programs:
            found.program(name)
        print(found.folder)
    except SteersmanError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
