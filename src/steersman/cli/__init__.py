# SPDX-License-Identifier: Apache-2.0
"""The command line: `steersman run | simulate | explain | …`. A thin layer over the public Python
API.

Modules here import nothing heavy at their top, so that `steersman --help` answers at once.
"""

from steersman.cli.group import main

__all__ = ["main"]
