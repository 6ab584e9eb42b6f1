# SPDX-License-Identifier: Apache-2.0
"""Objects that a sandbox has from the beginning."""

from __future__ import annotations

import pytest

from steersman import api
from steersman.base.clock import ManualClock
from steersman.cluster.apiserver.catalog import Catalog
from steersman.cluster.controllers.endpoint_slices import EndpointSlice
from steersman.cluster.controllers.endpoints import Endpoints
from steersman.cluster.store import KubeAdmission, Store
from steersman.sandbox.default_objects import DefaultObjects


@pytest.mark.parametrize("runs_controllers", [True, False])
def test_service_accounts_and_the_root_certificate_are_the_work_of_controllers(runs_controllers: bool) -> None:
    store = Store(ManualClock(1000.0), admission=KubeAdmission(), keeps_documents=True)
    DefaultObjects(store, Catalog(), "pem", 6443, fills_namespaces=runs_controllers)
    store.create(api.Namespace(metadata=api.ObjectMeta(name="mine")))
    names = {kind.KIND: set(store.objects(kind)) for kind in store.kinds}
    assert ("mine/default" in names.get("ServiceAccount", ())) is runs_controllers
    assert ("mine/kube-root-ca.crt" in names["ConfigMap"]) is runs_controllers
    assert ("default/kube-root-ca.crt" in names["ConfigMap"]) is runs_controllers


def test_the_kubernetes_service_has_the_endpoint_of_this_run() -> None:
    store = Store(ManualClock(1000.0), admission=KubeAdmission(), keeps_documents=True)
    for port in (6443, 7443):
        DefaultObjects(store, Catalog(), "pem", port)
        (subset,) = store.document(Endpoints, "default/kubernetes")["subsets"]
        assert subset["ports"] == [{"name": "https", "port": port, "protocol": "TCP"}]
        found = store.document(EndpointSlice, "default/kubernetes")
        assert found["ports"] == subset["ports"]
        assert found["metadata"]["labels"] == {"kubernetes.io/service-name": "kubernetes"}
