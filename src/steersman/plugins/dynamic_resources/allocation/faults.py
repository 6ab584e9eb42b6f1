# SPDX-License-Identifier: Apache-2.0
"""What can go wrong in an allocation, besides there being no suitable devices."""

from __future__ import annotations


class AllocationFault(Exception):
    """A claim or class cannot be understood, or its devices cannot be told: the whole attempt ends. The text is upstream's."""


class NodeFault(Exception):
    """The devices of one node are published in a way that cannot be right: other nodes may do."""


class OutOfTime(Exception):
    """The search for devices on one node takes longer than it may."""
