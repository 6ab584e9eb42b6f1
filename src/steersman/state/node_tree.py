# SPDX-License-Identifier: Apache-2.0
"""The order in which kube-scheduler has nodes in its list: by zones in turn, in each by when the node joined it.

Written by the node table with every node that comes, changes its zone or goes; read by `engine.sampling`, for which the order
decides what a search finds. The rules are those of upstream's `node_tree.go`: a zone has its place from its first node on
until its last one goes, a node that comes again, or from another zone, comes last.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import zip_longest
from typing import Final

from steersman.graph_copy import copied_attributes, two_levels

#: The label that counts comes first, as upstream reads them.
_ZONE_KEYS: Final = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
_REGION_KEYS: Final = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")

Zone = tuple[str, str]


def zone_of(labels: Mapping[str, str]) -> Zone:
    """Region and zone of a node with these labels; "" for what they do not say."""
    return _first(labels, _REGION_KEYS), _first(labels, _ZONE_KEYS)


def _first(labels: Mapping[str, str], keys: tuple[str, str]) -> str:
    deprecated, key = keys
    found = labels.get(deprecated)
    return labels.get(key, "") if found is None else found


@copied_attributes(zones=two_levels)
class NodeTree:
    """Names of nodes by zone."""

    def __init__(self, membership: int = 0) -> None:
        #: Zones in the order of their first nodes, and the names in each in the order in which they joined it.
        self.zones: dict[Zone, dict[str, None]] = {}
        #: Grows whenever a node comes or goes.
        self.membership = membership

    def add(self, name: str, labels: Mapping[str, str]) -> None:
        """A node comes."""
        self.membership += 1
        self.zones.setdefault(zone_of(labels), {})[name] = None

    def remove(self, name: str, labels: Mapping[str, str]) -> None:
        """A node goes that had these labels."""
        self.membership += 1
        self._leave(name, zone_of(labels))

    def relabel(self, name: str, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        """The labels of a node have changed: it may be in another zone now."""
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
        """All names, zone after zone."""
        return (name for names in self.zones.values() for name in names)

    def has_all(self, names: Collection[str]) -> bool:
        """Whether the nodes are exactly those with these names, which are all different."""
        return len(names) == sum(map(len, self.zones.values())) and all(map(names.__contains__, self.names()))

    def in_turn(self) -> Iterator[str]:
        """All names in the order of a list: the first node of each zone, the second of each, and so on."""
        return (name for turn in zip_longest(*self.zones.values()) for name in turn if name is not None)
