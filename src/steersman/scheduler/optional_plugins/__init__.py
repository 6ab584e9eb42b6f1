# SPDX-License-Identifier: Apache-2.0
"""Bundled plugins that no default profile has: a configuration enables them by name.

`OPTIONAL_PLUGINS` are entry points, so that a plugin is imported only if a configuration names it.
An installed package or a file of `--plugin` with the same name takes its place.
"""

from importlib.metadata import EntryPoint
from typing import Final

OPTIONAL_PLUGINS: Final = (EntryPoint("Coscheduling", f"{__name__}.coscheduling:Coscheduling", "steersman.plugins"),)
