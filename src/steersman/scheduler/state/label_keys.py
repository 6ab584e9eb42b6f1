# SPDX-License-Identifier: Apache-2.0
"""Label keys of pods that selectors in use refer to.

Pods that differ only in other labels share their signature. References are counted by the owners of
selectors: count tables (`pod_counts`) and the affinity terms of pods (`term_tables`).
"""

from __future__ import annotations

from collections.abc import Iterable

from steersman.base import CacheSpec

#: Unused keys stay for a while, because a key that is added again invalidates signatures.
_MAX_UNUSED = 256


LABEL_KEYS_IN_USE = CacheSpec(
    name="label keys in use",
    attributes=("LabelKeysInUse.users",),
    contents="how many selectors in use refer to a label of pods",
    key="label key",
    invalidation="never: updated with every change of the cluster state; `version` changes when a key is added",
    limit="those in use and 256 others",
    reference="the keys of all matchers and terms in use",
)


class LabelKeysInUse:
    """Reference counts of label keys. Invariant: `users[key]` is the number of selectors in use
    that refer to the key."""

    def __init__(self) -> None:
        #: Number of selectors in use by key. Only modified here.
        self.users: dict[str, int] = {}
        self._unused = 0
        #: Incremented with every added key. Removals do not count: signatures may distinguish more
        #: pods than necessary.
        self.version = 0

    def keys(self) -> frozenset[str]:
        return frozenset(self.users)

    def hold(self, keys: Iterable[str]) -> None:
        """Add the keys of a selector that is now in use."""
        for key in keys:
            users = self.users.get(key)
            if users is None:
                self.version += 1
            elif users == 0:
                self._unused -= 1
            self.users[key] = (users or 0) + 1

    def release(self, keys: Iterable[str]) -> None:
        """Remove the keys of a selector that is no longer in use."""
        for key in keys:
            self.users[key] -= 1
            self._unused += not self.users[key]
        if self._unused > _MAX_UNUSED:
            self.users = {key: users for key, users in self.users.items() if users}
            self._unused = 0

    def clear(self) -> None:
        """Remove all keys."""
        self.users.clear()
        self._unused = 0

    def __len__(self) -> int:
        return len(self.users)
