# SPDX-License-Identifier: Apache-2.0
"""Short ways to write configuration documents in tests."""

from __future__ import annotations

from textwrap import dedent, indent

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def configuration(body: str = "") -> str:
    """A document with this content below its header."""
    return HEADER + dedent(body)


def with_args(plugin: str, args: str) -> str:
    """A document with one profile that gives `plugin` these arguments."""
    return f"{HEADER}profiles:\n- pluginConfig:\n  - name: {plugin}\n    args:\n" + indent(dedent(args), " " * 6)


def with_plugins(plugins: str) -> str:
    """A document with one profile with these plugin sections."""
    return f"{HEADER}profiles:\n- plugins:\n" + indent(dedent(plugins), " " * 4)
