# SPDX-License-Identifier: Apache-2.0
"""Which ResourceClaims a pod uses, and why one of them cannot be used yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from steersman import api


class ClaimProblem(Exception):
    """A claim is missing, not created yet, being deleted, or belongs to another pod. The text is upstream's."""


class Claims(Protocol):
    """Claims by `namespace/name`, as they are believed to be."""

    def get(self, key: str) -> api.ResourceClaim | None: ...


def pod_claims(pod: api.Pod, claims: Claims) -> list[api.ResourceClaim]:
    """The pod's claims in the order of the spec. ClaimProblem when one of them cannot be used."""
    return [_claim(pod, name, generated, claims) for name, generated in _claim_names(pod)]


def is_reserved_for(claim: api.ResourceClaim, pod: api.Pod) -> bool:
    return any(user.uid == pod.metadata.uid for user in claim.status.reserved_for)


def _claim_names(pod: api.Pod) -> Iterator[tuple[str, bool]]:
    """Names of the claims, and whether each was generated from a template for this pod."""
    if not pod.spec.resource_claims:
        return
    generated = {status.name: status for status in pod.status.resource_claim_statuses}
    for reference in pod.spec.resource_claims:
        if reference.resource_claim_name is not None:
            yield reference.resource_claim_name, False
        elif reference.resource_claim_template_name is None:
            unset = "none of the supported fields are set"
            raise ClaimProblem(f'pod "{api.key(pod)}", spec.resourceClaim "{reference.name}": {unset}')
        elif reference.name not in generated:
            raise ClaimProblem(f'pod "{api.key(pod)}": ResourceClaim not created yet')
        else:
            name = generated[reference.name].resource_claim_name
            if name is not None:
                yield name, True


def _claim(pod: api.Pod, name: str, generated: bool, claims: Claims) -> api.ResourceClaim:
    key = f"{pod.metadata.namespace}/{name}"
    claim = claims.get(key)
    if claim is None:
        raise ClaimProblem(f'could not find ResourceClaim "{key}"')
    if claim.metadata.deletion_timestamp is not None:
        raise ClaimProblem(f'resourceclaim "{name}" is being deleted')
    if generated and not _is_owned_by(claim, pod):
        raise ClaimProblem(f"ResourceClaim {key} was not created for Pod {api.key(pod)} (Pod is not owner)")
    return claim


def _is_owned_by(claim: api.ResourceClaim, pod: api.Pod) -> bool:
    return any(o.controller and o.uid == pod.metadata.uid for o in claim.metadata.owner_references)
