# SPDX-License-Identifier: Apache-2.0
"""`python -m steersman.testing.control_plane [PROGRAM…]`: prints the binaries' folder, or an error.

Used by `make e2e`; other programs than etcd, kube-apiserver and kube-scheduler must be named.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from steersman.base import SteersmanError
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
