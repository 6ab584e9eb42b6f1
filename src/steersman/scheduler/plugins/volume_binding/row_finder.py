# SPDX-License-Identifier: Apache-2.0
"""The checks of `volume_finder` for all rows at once.

Bound volumes and provisioning are node selectors, evaluated over all rows. So are volumes for
waiting claims, but rows where two claims compete for a volume are checked one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from steersman.api import (
    NO_PROVISIONER,
    SELECTED_NODE,
    STORAGE,
    AnyTerm,
    CSINode,
    InTreePlugin,
    Operator,
    PersistentVolume,
    PersistentVolumeClaim,
    Selector,
    VolumeChoice,
    is_migrated_on,
    node_selector_of,
    plugin_of,
    quantity,
    requested_size,
    translated,
)
from steersman.base import CacheSpec, InputError, Memo
from steersman.framework import BoolColumn, NodesView, Objects
from steersman.scheduler.plugins.volume_binding.assume_cache import AssumedVolumes
from steersman.scheduler.plugins.volume_binding.claims import PodClaims, VolumeFault
from steersman.scheduler.plugins.volume_binding.volume_finder import (
    ERR_REASON_BIND_CONFLICT,
    ERR_REASON_NODE_CONFLICT,
    ERR_REASON_NOT_ENOUGH_SPACE,
    ERR_REASON_PV_NOT_EXIST,
    PodVolumes,
    VolumeFinder,
    topology_selectors,
)

#: Reasons against bound volumes, by code.
BOUND_REASONS = ("", ERR_REASON_NODE_CONFLICT, ERR_REASON_PV_NOT_EXIST)
NODE_CONFLICT, PV_NOT_EXIST = 1, 2
#: Reasons against claims that wait for a consumer, by code.
WAITING_REASONS = ("", ERR_REASON_BIND_CONFLICT, ERR_REASON_NOT_ENOUGH_SPACE)
BIND_CONFLICT, NOT_ENOUGH_SPACE = 1, 2
#: In both: an object that the row depends on is invalid.
BROKEN = 3

Codes = NDArray[np.int8]


MIGRATED_ROWS = CacheSpec(
    name="rows with migrated plugins",
    attributes=("RowFinder._migrated",),
    contents="the rows whose node has migrated an in-tree plugin to its CSI driver",
    key="in-tree plugin",
    invalidation="version of CSINode objects, end of the log of changed nodes (`Memo`)",
    limit="one column for each in-tree plugin",
    reference="`is_migrated_on` of every node",
    checked_by="tests/plugins/volume_columns/test_columns_equal_scalar_form.py",
)


class RowFinder:
    """Checks volumes by row. One per table of nodes; rows with faulty objects get code BROKEN."""

    def __init__(self, view: NodesView, objects: Objects, volumes: AssumedVolumes, finder: VolumeFinder) -> None:
        self.view = view
        self.generation = view.generation
        self._objects = objects
        self._volumes = volumes
        self._finder = finder
        self._masks = SelectorMasks(view)
        #: By in-tree plugin: the rows whose node has migrated it to its CSI driver.
        self._migrated: Memo[dict[str, BoolColumn]] = Memo()

    # -- bound volumes -----------------------------------------------------------------------------------------------

    def bound_codes(self, claims: Sequence[PersistentVolumeClaim]) -> Codes:
        codes = np.zeros(self.view.capacity, np.int8)
        for claim in claims:
            volume = self._volumes.get(claim.spec.volume_name)
            if volume is None:
                codes[codes == 0] = PV_NOT_EXIST
                break
            self._use(volume, codes)
        return codes

    def _use(self, volume: PersistentVolume, codes: Codes) -> None:
        """Mark the rows without a code on which the volume cannot be used."""
        plugin = plugin_of(volume.spec)
        own = self._by_affinity(volume)
        if plugin is None or not plugin.is_migrated:
            _note(codes, own)
            return
        migrated = self._migrated_rows(plugin)
        try:
            drivers = self._by_affinity(translated(volume, plugin))
        except InputError:
            codes[(codes == 0) & migrated] = BROKEN
            drivers = None
        _note(codes, np.where(migrated, True if drivers is None else drivers, True if own is None else own))

    def _by_affinity(self, volume: PersistentVolume) -> BoolColumn | None:
        selector = node_selector_of(volume)
        return None if selector is None else self._masks.any_term((selector,))

    def _migrated_rows(self, plugin: InTreePlugin) -> BoolColumn:
        """Return the rows whose node has migrated the plugin to its CSI driver."""
        as_of = (self._objects.version(CSINode), self.view.node_log.end)
        migrated = self._migrated.get(as_of, dict[str, BoolColumn])
        rows = migrated.get(plugin.name)
        if rows is None:
            rows = migrated[plugin.name] = self._masks.no_rows()
            for node in self._objects.list(CSINode):
                row = self.view.row_of(node.metadata.name)
                if row is not None:
                    rows[row] = is_migrated_on(node, plugin)
        return rows

    # -- waiting claims ----------------------------------------------------------------------------------------------

    def waiting_codes(self, claims: PodClaims) -> Codes:
        if not claims.waiting:
            return np.zeros(self.view.capacity, np.int8)
        selected = {c.metadata.annotations[SELECTED_NODE] for c in claims.waiting if _is_selected(c)}
        if selected:
            return self._selected_codes(claims, selected)
        ordered = sorted(claims.waiting, key=requested_size)
        if len({claim.metadata.name for claim in ordered}) < len(ordered):
            return self._one_by_one(claims, self.view.alive.nonzero()[0].tolist())
        return self._unselected_codes(claims, ordered)

    def _selected_codes(self, claims: PodClaims, selected: set[str]) -> Codes:
        """Return the codes for claims with a selected node: only that node may pass."""
        codes = np.full(self.view.capacity, BIND_CONFLICT, np.int8)
        row = self.view.row_of(next(iter(selected))) if len(selected) == 1 else None
        if row is not None:
            codes[row] = self._row_code(claims, row)
        return codes

    def _unselected_codes(self, claims: PodClaims, ordered: Sequence[PersistentVolumeClaim]) -> Codes:
        codes = np.zeros(self.view.capacity, np.int8)
        matches = np.zeros(self.view.capacity, np.int8)
        for claim in ordered:
            try:
                matched = self._matched(claims.choice(claim, self._volumes))
            except InputError:
                return np.full(self.view.capacity, BROKEN, np.int8)
            unmet = (codes == 0) & ~matched
            if unmet.any():
                codes[unmet] = self._provisioning_codes(claim)[unmet]
            matches += matched
        competing = (matches > 1) & self.view.alive
        if competing.any():
            rows = competing.nonzero()[0].tolist()
            codes[rows] = self._one_by_one(claims, rows)[rows]
        return codes

    def _matched(self, choice: VolumeChoice) -> BoolColumn:
        """Return the rows on which there is a volume for the claim."""
        selectors: list[AnyTerm] = []
        for volume in choice.reserved[:1] or choice.free:
            selector = node_selector_of(volume)
            if selector is None:
                return np.ones(self.view.capacity, np.bool_)
            selectors.append(selector)
        return self._masks.any_term(selectors)

    def _provisioning_codes(self, claim: PersistentVolumeClaim) -> Codes:
        storage_class = self._finder.class_of(claim)
        codes = np.full(self.view.capacity, BIND_CONFLICT, np.int8)
        if storage_class.provisioner in ("", NO_PROVISIONER):
            return codes
        terms = storage_class.allowed_topologies
        allowed = self._masks.any_of(topology_selectors(terms)) if terms else np.ones(self.view.capacity, np.bool_)
        codes[allowed] = 0
        capacities = self._finder.capacities
        if capacities.is_checked(claim, storage_class):
            size = quantity.value_of(claim.spec.resources.requests[STORAGE])
            pools = capacities.pools(storage_class.metadata.name)
            room = self._masks.any_of(pool.nodes for pool in pools if pool.limit >= size)
            codes[allowed & ~room] = NOT_ENOUGH_SPACE
        return codes

    # -- single rows -------------------------------------------------------------------------------------------------

    def _one_by_one(self, claims: PodClaims, rows: Sequence[int]) -> Codes:
        codes = np.zeros(self.view.capacity, np.int8)
        for row in rows:
            codes[row] = self._row_code(claims, row)
        return codes

    def _row_code(self, claims: PodClaims, row: int) -> int:
        try:
            reason = self._finder.find_unbound(claims, self.view.node(row), PodVolumes())
        except VolumeFault:
            return BROKEN
        return WAITING_REASONS.index(reason)


def _is_selected(claim: PersistentVolumeClaim) -> bool:
    return SELECTED_NODE in claim.metadata.annotations


def _note(codes: Codes, admitted: BoolColumn | None) -> None:
    if admitted is not None:
        codes[(codes == 0) & ~admitted] = NODE_CONFLICT


# -- node selectors of volumes, classes and capacities, as columns -----------------------------------------------------


class SelectorMasks:
    """Evaluates selectors over all rows. The caller may modify the results."""

    def __init__(self, view: NodesView) -> None:
        self._view = view

    def no_rows(self) -> BoolColumn:
        return np.zeros(self._view.capacity, np.bool_)

    def any_term(self, selectors: Iterable[AnyTerm]) -> BoolColumn:
        """Return the rows that any node selector admits, ignoring conditions on node names."""
        return self.any_of(Selector(term.labels) for s in selectors for term in s.terms if not term.errors)

    def any_of(self, selectors: Iterable[Selector]) -> BoolColumn:
        """Return the rows that any selector admits. Conditions on one label are merged: each local
        volume names its own host, and one column per volume would be wasteful."""
        admitted = self.no_rows()
        values_by_key: dict[str, set[str]] = {}
        for selector in selectors:
            requirements = selector.requirements
            if requirements is None:
                continue
            if len(requirements) == 1 and requirements[0].operator is Operator.IN:
                values_by_key.setdefault(requirements[0].key, set()).update(requirements[0].values)
            else:
                admitted |= self._all(selector)
        for key, values in values_by_key.items():
            admitted |= self._has_one_of(key, values)
        return admitted

    def _all(self, selector: Selector) -> BoolColumn:
        admitted = np.ones(self._view.capacity, np.bool_)
        for requirement in selector.requirements or ():
            admitted &= self._view.requirement(requirement)
        return admitted

    def _has_one_of(self, key: str, values: Iterable[str]) -> BoolColumn:
        ids, known = self._view.label_values(key)
        # One more than there are values: rows without the label have the id -1, the last index.
        wanted = np.zeros(len(known) + 1, np.bool_)
        wanted[[known[value] for value in values if value in known]] = True
        return wanted.take(ids, mode="wrap")
