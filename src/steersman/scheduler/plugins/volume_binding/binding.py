# SPDX-License-Identifier: Apache-2.0
"""Binding of claims after a node was chosen: assume the volumes, write them, await the controllers.

Reserve, Unreserve and PreBind of the plugin call this. PreBind fails when the binding is undone or
the controllers take too long; the pod is then scheduled again.
"""

from __future__ import annotations

from collections.abc import Sequence

from steersman.api import (
    SELECTED_NODE,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    annotated,
    bound_to,
    is_fully_bound,
    key,
    version_number,
    why_not_admitted,
)
from steersman.framework import PodInfo, PreBindHandle
from steersman.scheduler.plugins.volume_binding.assume_cache import AssumedObjects, AssumedVolumes, NotInStep
from steersman.scheduler.plugins.volume_binding.claims import VolumeFault
from steersman.scheduler.plugins.volume_binding.volume_finder import Binding, PodVolumes, Provision, VolumeFinder

ERR_TIMEOUT = "binding volumes: context deadline exceeded"
POLL_SECONDS = 1.0


class VolumeBinder:
    """Assumes, writes and awaits volumes of pods with a chosen node; raises `VolumeFault`."""

    def __init__(
        self,
        handle: PreBindHandle,
        claims: AssumedObjects[PersistentVolumeClaim],
        volumes: AssumedVolumes,
        finder: VolumeFinder,
        timeout_seconds: int,
    ) -> None:
        self._handle = handle
        self._claims = claims
        self._volumes = volumes
        self._finder = finder
        self._timeout_seconds = timeout_seconds

    # -- in memory ---------------------------------------------------------------------------------------------------

    def assume(self, wanted: PodVolumes, node_name: str) -> None:
        """Assume the objects of `wanted` and replace them with the versions to be written."""
        assumed = PodVolumes()
        try:
            for binding in wanted.bindings:
                assumed.bindings.append(self._assume_binding(binding))
            for provision in wanted.provisions:
                claim = annotated(provision.claim, SELECTED_NODE, node_name)
                self._claims.assume(claim)
                assumed.provisions.append(Provision(claim))
        except NotInStep as problem:
            self.revert(assumed)
            raise VolumeFault(str(problem)) from problem
        wanted.bindings, wanted.provisions = assumed.bindings, assumed.provisions

    def _assume_binding(self, binding: Binding) -> Binding:
        volume = bound_to(binding.volume, binding.claim)
        if volume is not binding.volume:
            self._volumes.assume(volume)
        return Binding(binding.claim, volume)

    def revert(self, assumed: PodVolumes) -> None:
        for binding in assumed.bindings:
            self._volumes.restore(binding.volume)
        for provision in assumed.provisions:
            self._claims.restore(provision.claim)

    # -- API requests ------------------------------------------------------------------------------------------------

    async def bind(self, pod: PodInfo, node_name: str, assumed: PodVolumes) -> None:
        """Write the assumed objects and return when all claims of the pod are bound."""
        claims = await self._write(assumed)
        for _ in range(self._timeout_seconds):
            await self._handle.sleep(POLL_SECONDS)
            if self._are_bound(pod, node_name, assumed.bindings, claims):
                return
        raise VolumeFault(ERR_TIMEOUT)

    async def _write(self, assumed: PodVolumes) -> list[PersistentVolumeClaim]:
        """Write the assumed objects and return the stored claims that are to be provisioned."""
        for binding in assumed.bindings:
            binding.volume = await self._handle.volumes.update_volume(binding.volume)
        return [await self._handle.volumes.update_claim(provision.claim) for provision in assumed.provisions]

    def _are_bound(
        self, pod: PodInfo, node_name: str, bindings: Sequence[Binding], provisioned: Sequence[PersistentVolumeClaim]
    ) -> bool:
        """Check the watched objects, not assumed ones, which other cycles may replace."""
        try:
            node = self._node(node_name)
            if self._handle.pods.get(pod.key) is None:
                raise VolumeFault(f'pod does not exist any more: pod "{pod.name}" not found')
            return all(self._is_binding_done(binding, node) for binding in bindings) and all(
                self._is_provision_done(claim, node) for claim in provisioned
            )
        except VolumeFault as problem:
            raise VolumeFault(f"binding volumes: {problem}") from problem

    def _node(self, name: str) -> Node:
        info = self._handle.nodes.get(name)
        if info is None:
            raise VolumeFault(f'failed to get node "{name}": node "{name}" not found')
        return info.node

    def _is_binding_done(self, binding: Binding, node: Node) -> bool:
        name, claim_key = binding.volume.metadata.name, key(binding.claim)
        volume, claim = self._volumes.shown(name), self._claims.shown(claim_key)
        if volume is None:
            raise VolumeFault(f'failed to check binding: persistentvolumes "{name}" not found')
        if claim is None:
            raise VolumeFault(f'failed to check binding: persistentvolumeclaims "{claim_key}" not found')
        if is_older(volume, binding.volume):
            return False
        self._check_node(volume, node)
        if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
            raise VolumeFault(f'ClaimRef got reset for pv "{name}"')
        return is_fully_bound(claim)

    def _is_provision_done(self, written: PersistentVolumeClaim, node: Node) -> bool:
        claim = self._claims.shown(key(written))
        if claim is None:
            raise VolumeFault(f'failed to check provisioning pvc: persistentvolumeclaims "{key(written)}" not found')
        if is_older(claim, written):
            return False
        name, annotations = claim.metadata.name, claim.metadata.annotations
        if not annotations:
            raise VolumeFault(f'selectedNode annotation reset for PVC "{name}"')
        if annotations.get(SELECTED_NODE) != node.metadata.name:
            # A provisioner that fails removes the annotation.
            raise VolumeFault(f'provisioning failed for PVC "{name}"')
        if claim.spec.volume_name:
            volume = self._volumes.shown(claim.spec.volume_name)
            if volume is None:
                return False
            self._check_node(volume, node)
        return is_fully_bound(claim)

    def _check_node(self, volume: PersistentVolume, node: Node) -> None:
        seen = self._finder.as_driver_sees_it(volume, node.metadata.name)
        why = why_not_admitted(seen, node.metadata.labels)
        if why:
            name = node.metadata.name
            raise VolumeFault(f'pv "{volume.metadata.name}" node affinity doesn\'t match node "{name}": {why}')


def is_older(one: PersistentVolume | PersistentVolumeClaim, other: PersistentVolume | PersistentVolumeClaim) -> bool:
    """Return whether the watch has yet to show the written version."""
    return version_number(one.metadata.resource_version) < version_number(other.metadata.resource_version)
