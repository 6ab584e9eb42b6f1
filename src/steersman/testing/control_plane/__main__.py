# SPDX-License-Identifier: Apache-2.0
"""`python -m steersman.testing.control_plane`: prints the folder of the programs, or what is missing. Used by `make e2e`."""

from __future__ import annotations

import sys

from steersman.errors import SteersmanError
from steersman.testing.control_plane.binaries import Binaries


def main() -> int:
    try:
        print(Binaries.find().etcd.parent)
    except SteersmanError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
