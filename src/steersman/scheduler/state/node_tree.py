# SPDX-License-Identifier: Apache-2.0
"""Order of nodes in kube-scheduler's list: round-robin over zones, in each by the time a node
joined it.

Written by the node table with every node that is added, changes its zone or is removed; read by
`engine.sampling`, for which the order determines the result of a search. The rules are those of
upstream's `node_tree.go`: a zone keeps its position from its first node until its last one is
removed; a node that is added again, or comes from another zone, goes last.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import zip_longest
from typing import Final

from steersman.api import BETA_REGION_LABEL, BETA_ZONE_LABEL, REGION_LABEL, ZONE_LABEL
from steersman.base.graph_copy import copied_attributes, two_levels

#: Upstream reads the first of these labels that a node has.
_ZONE_KEYS: Final = (BETA_ZONE_LABEL, ZONE_LABEL)
_REGION_KEYS: Final = (BETA_REGION_LABEL, REGION_LABEL)

Zone = tuple[str, str]


def zone_of(labels: Mapping[str, str]) -> Zone:
    """Return region and zone of a node with these labels; "" for missing ones."""
    return _first(labels, _REGION_KEYS), _first(labels, _ZONE_KEYS)


def _first(labels: Mapping[str, str], keys: tuple[str, str]) -> str:
    deprecated, key = keys
    found = labels.get(deprecated)
    return labels.get(key, "") if found is None else found


@copied_attributes(zones=two_levels)
class NodeTree:
    """Names of nodes by zone."""

    def __init__(self, membership: int = 0) -> None:
        #: Zones in the order of their first nodes, and the names in each in the order in which they
        #: joined it.
        self.zones: dict[Zone, dict[str, None]] = {}
        #: Incremented whenever a node is added or removed.
        self.membership = membership

    def add(self, name: str, labels: Mapping[str, str]) -> None:
        """Add a node."""
        self.membership += 1
        self.zones.setdefault(zone_of(labels), {})[name] = None

    def remove(self, name: str, labels: Mapping[str, str]) -> None:
        """Remove a node that had these labels."""
        self.membership += 1
        self._leave(name, zone_of(labels))

    def relabel(self, name: str, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        """Move a node to another zone if its labels say so."""
        old, new = zone_of(before), zone_of(after)
        if old != new:
            self._leave(name, old)
            self.zones.setdefault(new, {})[name] = None

    def _leave(self, name: str, zone: Zone) -> None:
        names = self.zones[zone]
        del names[name]
        if not names:
            del self.zones[zone]

    def names(self) -> Iterator[str]:
        """Iterate over all names, zone by zone."""
        return (name for names in self.zones.values() for name in names)

    def has_all(self, names: Collection[str]) -> bool:
        """Return whether these distinct names are exactly the nodes."""
        return len(names) == sum(map(len, self.zones.values())) and all(map(names.__contains__, self.names()))

    def in_turn(self) -> Iterator[str]:
        """Iterate over all names in list order: the first node of each zone, the second of each,
        and so on."""
        return (name for turn in zip_longest(*self.zones.values()) for name in turn if name is not None)
