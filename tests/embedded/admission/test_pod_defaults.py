# SPDX-License-Identifier: Apache-2.0
"""Fields of a pod that are filled in when it is created."""

from __future__ import annotations

import pytest
from tests.embedded.stores import START, START_TEXT, admitting_store, pod, raw, with_meta, with_spec

from steersman import api
from steersman.base.clock import ManualClock
from steersman.base.errors import InputError
from steersman.cluster.store import KubeAdmission, Store
from steersman.testing import make_pod


def _admitted(given: api.Pod) -> api.Pod:
    return admitting_store().create(given)


def test_a_pod_belongs_to_the_default_scheduler_unless_it_says_otherwise() -> None:
    assert _admitted(raw(make_pod())).spec.scheduler_name == "default-scheduler"
    assert _admitted(raw(make_pod().scheduler("mine"))).spec.scheduler_name == "mine"


def test_a_new_pod_is_pending() -> None:
    assert _admitted(raw(make_pod())).status.phase == "Pending"
    assert _admitted(raw(make_pod().phase("Running"))).status.phase == "Running"


def test_a_pod_restarts_always_and_has_half_a_minute_to_stop() -> None:
    spec = _admitted(raw(make_pod())).spec
    assert (spec.restart_policy, spec.termination_grace_period_seconds) == ("Always", 30)
    given = with_spec(raw(make_pod()), restart_policy="Never", termination_grace_period_seconds=0)
    spec = _admitted(given).spec
    assert (spec.restart_policy, spec.termination_grace_period_seconds) == ("Never", 0)


def test_a_gated_pod_says_why_it_is_not_scheduled() -> None:
    (condition,) = _admitted(raw(make_pod().gate("wait"))).status.conditions
    assert (condition.type, condition.status, condition.reason) == ("PodScheduled", "False", "SchedulingGated")
    assert condition.message == "Scheduling is blocked due to non-empty scheduling gates"
    assert condition.last_transition_time == START_TEXT


def test_a_gated_pod_that_has_the_condition_already_keeps_it() -> None:
    given = raw(make_pod().gate("wait").condition("PodScheduled", "False", reason="Mine"))
    assert [c.reason for c in _admitted(given).status.conditions] == ["Mine"]


def test_a_port_without_a_protocol_is_a_tcp_port() -> None:
    ports = (api.ContainerPort(container_port=80), api.ContainerPort(container_port=53, protocol="UDP"))
    (container,) = _admitted(raw(make_pod().container(ports=ports))).spec.containers
    assert [port.protocol for port in container.ports] == ["TCP", "UDP"]
    assert [port.host_port for port in container.ports] == [0, 0]


def test_in_the_network_of_the_node_container_ports_are_host_ports() -> None:
    ports = (api.ContainerPort(container_port=80), api.ContainerPort(container_port=81, host_port=8081))
    given = raw(make_pod().container(ports=ports).host_network())
    given = with_spec(given, init_containers=given.spec.containers)
    spec = _admitted(given).spec
    for container in (*spec.containers, *spec.init_containers):
        assert [port.host_port for port in container.ports] == [80, 8081]


def test_the_same_containers_are_completed_for_either_network() -> None:
    given = raw(make_pod("a").container(ports=(api.ContainerPort(container_port=80),)))
    on_host = with_spec(raw(make_pod("b")), containers=given.spec.containers, host_network=True)
    store = admitting_store()
    assert store.create(given).spec.containers[0].ports[0].host_port == 0
    assert store.create(on_host).spec.containers[0].ports[0].host_port == 80


def test_pods_that_share_their_containers_still_do_afterwards() -> None:
    given = raw(make_pod("a").container(ports=(api.ContainerPort(container_port=80),)))
    store = admitting_store()
    first = store.create(given)
    second = store.create(with_spec(raw(make_pod("b")), containers=given.spec.containers))
    assert first.spec.containers is second.spec.containers


def test_pods_of_many_templates_are_completed_each_by_itself() -> None:
    """More templates than are remembered at a time."""
    store = admitting_store()
    for number in range(5000):
        ports = (api.ContainerPort(container_port=number + 1),)
        (container,) = store.create(raw(make_pod(str(number)).container(ports=ports))).spec.containers
        assert container.ports == (api.ContainerPort(container_port=number + 1, protocol="TCP"),)


def test_volumes_get_the_defaults_that_placement_depends_on() -> None:
    template = api.PersistentVolumeClaimTemplate()
    given = raw(
        make_pod()
        .volume(api.Volume(name="block", rbd=api.RBD(image="i")))
        .volume(api.Volume(name="own", ephemeral=api.EphemeralVolumeSource(volume_claim_template=template)))
        .volume(api.Volume(name="other", ephemeral=api.EphemeralVolumeSource()))
        .pvc("data")
    )
    block, own, other, claimed = _admitted(given).spec.volumes
    assert block.rbd == api.RBD(image="i", pool="rbd", user="admin")
    assert own.ephemeral is not None
    assert own.ephemeral.volume_claim_template is not None
    assert own.ephemeral.volume_claim_template.spec.volume_mode == "Filesystem"
    assert (other, claimed) == given.spec.volumes[2:]


def test_a_pod_that_does_not_pass_the_check_of_the_host_is_not_created() -> None:
    def refuse(checked: api.Pod) -> None:
        raise InputError("is not wanted", object=checked.metadata.name)

    store = Store(ManualClock(START), admission=KubeAdmission(refuse))
    with pytest.raises(InputError, match="web: is not wanted"):
        store.create(raw(make_pod("web")))
    assert not store.objects(api.Pod)


def test_an_update_fills_in_what_the_writer_left_out() -> None:
    store = admitting_store(make_pod("web").priority(7))
    updated = store.update(raw(make_pod("web").label("a", "b")))
    assert updated.spec.scheduler_name == "default-scheduler"
    assert updated.spec.priority == 7
    assert updated.metadata.generation == 1
    assert updated is pod(store)


def test_an_admitted_pod_passes_unchanged() -> None:
    ports = (api.ContainerPort(container_port=80),)
    given = raw(
        make_pod("web")
        .labels({"app": "web", "rev": "1"})
        .container(requests={"cpu": "100u"}, limits={"memory": "1Gi"}, ports=ports)
        .spread("zone", selector={"app": "web"}, match_label_keys=("rev",))
        .gate("wait")
        .pvc("data")
    )
    first = _admitted(given)
    again = _admitted(first)
    assert again == first


def test_where_documents_are_kept_a_new_pod_has_its_qos_class() -> None:
    same = {"cpu": "1", "memory": "1Gi"}
    given = [make_pod("none"), make_pod("some").req(cpu="1"), make_pod("all").container(requests=same, limits=same)]
    served = Store(ManualClock(START), admission=KubeAdmission(), keeps_documents=True)
    classes = [served.create(raw(pod)).status.qos_class for pod in given]
    assert classes == ["BestEffort", "Burstable", "Guaranteed"]
    assert served.document(api.Pod, "default/some")["status"] == {"phase": "Pending", "qosClass": "Burstable"}
    assert _admitted(raw(given[0])).status.qos_class == ""


def test_a_new_pod_gets_the_service_account_of_its_namespace() -> None:
    store = Store(ManualClock(START), admission=KubeAdmission(assigns_service_accounts=True), keeps_documents=True)
    named = with_spec(raw(make_pod("named")), service_account_name="builder")
    by_its_old_name = with_spec(raw(make_pod("old")), service_account="builder")
    loaded = with_meta(raw(make_pod("bound").node("n1")), creation_timestamp="2020-01-01T00:00:00Z")
    specs = [store.create(pod).spec for pod in (raw(make_pod("bare")), named, by_its_old_name, loaded)]
    accounts = [(spec.service_account_name, spec.service_account) for spec in specs]
    assert accounts == [("default", "default"), ("builder", "builder"), ("builder", "builder"), ("", "")]
    shown = store.document(api.Pod, "default/bare")["spec"]
    assert (shown["serviceAccountName"], shown["serviceAccount"]) == ("default", "default")
    assert _admitted(raw(make_pod())).spec.service_account_name == ""
