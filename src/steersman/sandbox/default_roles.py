# SPDX-License-Identifier: Apache-2.0
"""ClusterRoles of every cluster (`admin`, `edit`, `view`, `system:…`), and aggregated ClusterRoles.

A sandbox does not check permissions; clients may list, bind or extend the roles.
`scripts/default_roles.py` generates the table.
"""

from __future__ import annotations

from importlib import resources
from typing import Any, Final

import msgspec

from steersman.api import LabelSelector, Object, codec, from_label_selector
from steersman.base import InputError
from steersman.cluster.apiserver import Catalog
from steersman.cluster.store import Document, EventType, Store, typed

RBAC: Final = "rbac.authorization.k8s.io/v1"
BOOTSTRAPPING: Final = ("kubernetes.io/bootstrapping", "rbac-defaults")
_AUTO_UPDATE: Final = {"rbac.authorization.kubernetes.io/autoupdate": "true"}


def default_roles() -> list[Document]:
    """Return the roles and bindings of a new cluster."""
    text = resources.files("steersman.sandbox").joinpath("default_roles.json").read_bytes()
    return [_role(*entry) for entry in msgspec.json.decode(text, type=list[tuple[str, str, dict[str, Any]]])]


def _role(kind: str, name: str, fields: dict[str, Any]) -> Document:
    labels = dict([BOOTSTRAPPING]) | fields.pop("labels", {})
    metadata = {"name": name, "labels": labels, "annotations": _AUTO_UPDATE}
    empty = {"rules": None} if kind == "ClusterRole" else {}
    return {"apiVersion": RBAC, "kind": kind, "metadata": metadata, **empty, **fields}


class RoleAggregation:
    """Fills in the rules of ClusterRoles with an `aggregationRule`, as upstream."""

    def __init__(self, store: Store, catalog: Catalog) -> None:
        role = catalog.of_kind(RBAC, "ClusterRole")
        assert role is not None, "ClusterRoles are built in"
        assert role.stored_as is not None, "ClusterRoles are stored"
        self._store, self._kind = store, role.stored_as
        store.subscribe(self._on_role, (self._kind,))
        self.aggregate()

    def _on_role(self, _: EventType, __: Object | None, ___: Object | None) -> None:
        self.aggregate()

    def aggregate(self) -> None:
        """Write the rules of every aggregated role whose sources have changed."""
        roles = self._store.documents(self._kind)
        for name, role in sorted(roles.items()):
            if not role.get("aggregationRule"):
                continue
            rules: list[Any] = []
            for other, source in sorted(roles.items()):
                if other != name and _selects(role, source):
                    rules += [rule for rule in source.get("rules") or () if rule not in rules]
            if rules != (role.get("rules") or []):
                changed = {**role, "rules": rules}
                self._store.rewrite(self._store.get(self._kind, name), typed(changed, self._kind), changed)
                return  # the subscription continues with the roles that aggregate this one


def _selects(role: Document, source: Document) -> bool:
    labels = source["metadata"].get("labels") or {}
    selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
    try:
        found = (from_label_selector(codec.convert(selector, LabelSelector)) for selector in selectors)
        return any(selector.matches(labels) for selector in found)
    except InputError:
        return False
