# SPDX-License-Identifier: Apache-2.0
"""Allocations of random claims from random devices are those of upstream's allocator (v1.36.4, default feature gates).

`data/allocations.jsonl.gz` has one document a line: node, claims, claims that have devices already, slices, classes, and what
upstream's allocator said: an allocation for each claim, nothing, or an error. Identities of shares are masked.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from steersman import api
from steersman.api import codec
from steersman.scheduler.plugins.dynamic_resources.allocation import (
    AllocationFault,
    DevicesInUse,
    Features,
    NodeFault,
    PublishedDevices,
    Supply,
    allocation_of,
    find_devices,
    prepare,
)
from steersman.scheduler.state.objects import ObjectStore

DATA = Path(__file__).parent / "data" / "allocations.jsonl.gz"
SHARE = "S"

Document = dict[str, Any]


def _read() -> list[Document]:
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


CASES = _read()


def published(slices: Iterable[Document]) -> PublishedDevices:
    store = ObjectStore()
    for document in slices:
        store.put(codec.convert(document, api.ResourceSlice))
    return PublishedDevices(store, partitionable=True)


def supply(claims: Iterable[Document]) -> Supply:
    in_use = DevicesInUse()
    for document in claims:
        allocation = codec.convert(document, api.ResourceClaim).status.allocation
        assert allocation is not None
        in_use.add(allocation)
    return Supply(in_use, Features())


def allocations(case: Document) -> list[Document] | None:
    classes = {document["metadata"]["name"]: codec.convert(document, api.DeviceClass) for document in case["classes"]}
    claims = prepare([codec.convert(one, api.ResourceClaim) for one in case["claims"]], classes.get, Features())
    node = codec.convert(case["node"], api.Node)
    found = find_devices(claims, published(case["slices"]).devices_of(node), supply(case["taken"]))
    if found is None:
        return None
    made = [
        allocation_of(claim, each, node.metadata.name, Features(), lambda: SHARE)
        for claim, each in zip(claims, found, strict=True)
    ]
    return [codec.to_dict(as_claim(one))["status"]["allocation"] for one in made]


def as_claim(allocation: api.AllocationResult) -> api.ResourceClaim:
    return api.ResourceClaim(status=api.ResourceClaimStatus(allocation=allocation))


def answer(case: Document) -> Document:
    try:
        return {"allocations": allocations(case)}
    except (AllocationFault, NodeFault) as fault:
        return {"allocations": None, "error": str(fault)}


@pytest.mark.parametrize("number", range(len(CASES)))
def test_claims_get_the_devices_that_upstream_gives_them(number: int) -> None:
    assert answer(CASES[number]) == CASES[number]["expected"]


def test_there_are_cases_of_every_kind() -> None:
    kinds = [("error" in case["expected"], case["expected"]["allocations"] is not None) for case in CASES]
    assert min(kinds.count(kind) for kind in ((True, False), (False, True), (False, False))) >= 30
