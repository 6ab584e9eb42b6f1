# SPDX-License-Identifier: Apache-2.0
"""Deletions from the store."""

from __future__ import annotations

import pytest
from tests.embedded.stores import bare_pod, make_store, pod, with_meta

from steersman import api
from steersman.cluster.store import Conflict, NotFound
from steersman.testing import make_pod


def test_a_deleted_object_is_gone() -> None:
    store = make_store(make_pod("web"))
    store.delete(api.Pod, "default/web")
    assert store.find(api.Pod, "default/web") is None
    with pytest.raises(NotFound):
        store.get(api.Pod, "default/web")


def test_a_deletion_gives_the_object_back_with_the_version_of_the_deletion() -> None:
    store = make_store(make_pod("web"))
    before = pod(store)
    gone = store.delete(api.Pod, "default/web")
    assert gone == with_meta(before, resource_version=store.resource_version)


def test_what_does_not_exist_cannot_be_deleted() -> None:
    with pytest.raises(NotFound, match='nodes "n1" not found'):
        make_store().delete(api.Node, "n1")


def test_a_deletion_may_be_meant_for_one_uid_only() -> None:
    store = make_store(make_pod("web"))
    first = pod(store).metadata.uid
    store.delete(api.Pod, "default/web", first)
    store.create(bare_pod())
    with pytest.raises(Conflict, match=f"UID in precondition: {first}"):
        store.delete(api.Pod, "default/web", first)
    assert pod(store)


def test_finalizers_hold_up_nothing() -> None:
    store = make_store()
    store.create(with_meta(bare_pod(), finalizers=("batch.kubernetes.io/job-tracking",)))
    store.delete(api.Pod, "default/web")
    assert store.find(api.Pod, "default/web") is None
