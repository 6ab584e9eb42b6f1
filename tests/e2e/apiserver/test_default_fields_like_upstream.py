# SPDX-License-Identifier: Apache-2.0
"""What is filled in in objects that leave it out, here and at a real kube-apiserver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.apiserver.embedded_api import EmbeddedApi
from tests.apiserver.test_default_fields import BARE_OBJECTS, url_of

from steersman.testing.control_plane import JsonObject, KubeClient

CHOSEN = ("clusterIP", "clusterIPs", "nodePort")
"""Fields for which a server chooses any free value."""
BY_UID = ("controller-uid", "batch.kubernetes.io/controller-uid")


@pytest.mark.parametrize(
    "bare", BARE_OBJECTS, ids=[f"{bare['kind']}-{bare['metadata']['name']}" for bare in BARE_OBJECTS]
)
def test_the_same_fields_are_filled_in(admin: KubeClient, bare: JsonObject) -> None:
    theirs = admin.create(bare, query={"dryRun": "All"})
    ours = EmbeddedApi().create(f"{url_of(bare)}?dryRun=All", bare)
    assert dict(fields(ours)) == dict(fields(theirs))


def fields(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a document by its path; without those that no two servers have alike, and those that say nothing."""
    if isinstance(value, dict):
        for name, part in value.items():
            if path == "" and name in ("status", "metadata"):
                part = {"labels": part.get("labels")} if name == "metadata" else {}
            yield from fields("chosen" if name in CHOSEN + BY_UID else part, f"{path}.{name}")
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from fields(part, f"{path}[{index}]")
    elif value is not None and value != "":
        yield path, value
