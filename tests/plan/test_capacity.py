# SPDX-License-Identifier: Apache-2.0
"""How many more pods fit: exactly as many as the whole simulation places, whatever limits them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from random import Random

import msgspec
import pytest
from tests.plan.random_clusters import HOSTNAME, ZONE, a_cluster, a_pod

from steersman import Simulation, api, plan
from steersman.base.errors import InputError
from steersman.plan.pod_templates import load_pods, mixed, parse_weight
from steersman.simulation.probes.fill import fill_nodes
from steersman.testing import make_claim, make_node, make_pod

_replace = msgspec.structs.replace


def copies(pod: api.Pod, count: int) -> list[api.Pod]:
    return [_replace(pod, metadata=_replace(pod.metadata, name=f"copy-{number}", uid="")) for number in range(count)]


def leaves_none_pending(cluster: Sequence[api.Object], pods: Sequence[api.Object], seed: int) -> bool:
    return not Simulation.load(cluster, pods, seed=seed).run().pending


def brute_force(cluster: Sequence[api.Object], pod: api.Pod, seed: int) -> int:
    """Pods are added to a simulation one at a time, until one is pending."""
    simulation = Simulation.load(cluster, seed=seed)
    simulation.run()
    for count, copy in enumerate(copies(pod, 200)):
        if simulation.add(copy).run().pending:
            return count
    raise AssertionError("more pods fit than a small cluster has room for")


@pytest.mark.parametrize("case", range(100))
def test_capacity_is_the_number_that_brute_force_simulation_finds(case: int) -> None:
    random = Random(case)
    cluster, pod = a_cluster(random), a_pod(random)
    answer = plan.capacity(Simulation.load(cluster, seed=case), [pod])
    assert answer.fits == brute_force(cluster, pod, case)
    assert answer.fits == sum(answer.per_node.values())
    assert leaves_none_pending(cluster, copies(pod, answer.fits), case)
    assert not leaves_none_pending(cluster, copies(pod, answer.fits + 1), case)


@pytest.mark.parametrize("case", range(30))
def test_pods_go_where_a_simulation_of_all_of_them_at_once_puts_them(case: int) -> None:
    random = Random(1000 + case)
    cluster, pod = a_cluster(random), a_pod(random)
    answer = plan.capacity(Simulation.load(cluster, seed=case), [pod])
    result = Simulation.load(cluster, copies(pod, answer.fits), seed=case).run()
    assert Counter(placement.node for placement in result.placements.values()) == Counter(
        {node: count for node, count in answer.per_node.items() if count}
    )


@pytest.mark.parametrize("case", range(30))
def test_a_mix_is_placed_by_the_cycle_alone_as_through_the_store(case: int) -> None:
    random = Random(2000 + case)
    cluster = a_cluster(random)
    templates = [load_pods(a_pod(random, f"new-{number}"), random.randint(1, 3)) for number in range(3)]
    fast = fill_nodes(Simulation.load(cluster, seed=case).fork(), islice(mixed(templates), 500))
    slow = fill_nodes(Simulation.load(cluster, seed=case).fork(), islice(mixed(templates), 500), through_store=True)
    assert fast == slow


def test_pods_of_a_mix_come_in_turn_by_weight() -> None:
    templates = [load_pods(make_pod("a").obj(), 3), load_pods(make_pod("b").obj(), 1)]
    assert [new.template for new in islice(mixed(templates), 8)] == [0, 0, 1, 0, 0, 0, 1, 0]
    node = make_node("n1").capacity(cpu="8", memory="8Gi", pods=10).obj()
    assert plan.capacity(Simulation.load(node), templates).per_template == {"a": 8, "b": 2}


def test_what_limits_is_reported_with_the_nodes_and_by_zone_and_pool() -> None:
    nodes = [
        make_node("a1")
        .capacity(cpu="2", memory="8Gi", pods=10)
        .label(ZONE, "a")
        .label("steersman.dev/pool", "big")
        .obj(),
        make_node("b1").capacity(cpu="4", memory="1Gi", pods=10).label(ZONE, "b").obj(),
        make_node("b2")
        .capacity(cpu="4", memory="8Gi", pods=10)
        .label(ZONE, "b")
        .taint("x", "y", effect="NoSchedule")
        .obj(),
    ]
    answer = plan.capacity(Simulation.load(nodes), [make_pod("web").req(cpu="1", memory="512Mi").obj()], at_least=5)
    assert answer.fits == 4
    assert answer.limits == {
        "Insufficient cpu": ["a1"],
        "Insufficient memory": ["b1"],
        "node(s) had untolerated taint(s)": ["b2"],
    }
    assert (answer.per_zone, answer.per_pool) == ({"a": 2, "b": 2}, {"": 2, "big": 2})
    assert not answer.is_met
    assert answer.rows()[2] == {"node": "b2", "fits": 0, "limits": "node(s) had untolerated taint(s)"}


def test_a_quota_and_a_limit_range_count_as_they_do_at_admission() -> None:
    quota = api.ResourceQuota(
        metadata=api.ObjectMeta(name="small", namespace="default"),
        spec=api.ResourceQuotaSpec(hard={"requests.cpu": "1500m"}),
    )
    limits = {"type": "Container", "defaultRequest": {"cpu": "500m"}}
    limit_range = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": "default"},
        "spec": {"limits": [limits]},
    }
    node = make_node("n1").capacity(cpu="8", memory="8Gi", pods=10).obj()
    present = make_pod("there").req(cpu="250m").node("n1").obj()
    answer = plan.capacity(
        Simulation.load(node, quota, limit_range, present), [make_pod("web").req(memory="1Mi").obj()]
    )
    assert answer.fits == 2
    assert list(answer.limits.values()) == [[]]
    assert "exceeded quota: small" in answer.message


def test_with_preemption_pods_of_lower_priority_make_room() -> None:
    nodes = [make_node(f"n{number}").capacity(cpu="4", memory="8Gi", pods=10).obj() for number in range(2)]
    low = [make_pod(f"low-{number}").req(cpu="2").node("n0").obj() for number in range(2)]
    high = make_pod("high").req(cpu="2").priority(100).obj()
    answer = plan.capacity(Simulation.load(nodes, low), [high], preemption=True)
    assert answer.fits == 2
    assert answer.with_preemption is not None
    assert answer.with_preemption.fits == 4
    assert answer.with_preemption.preempted == {"default/low-0": "n0", "default/low-1": "n0"}


@pytest.mark.parametrize("case", range(10))
def test_with_preemption_the_number_is_that_of_pods_that_come_one_at_a_time(case: int) -> None:
    random = Random(3000 + case)
    cluster, pod = a_cluster(random), a_pod(random)
    pod = _replace(pod, spec=_replace(pod.spec, priority=100))
    answer = plan.capacity(Simulation.load(cluster, seed=case), [pod], preemption=True)
    simulation, count = Simulation.load(cluster, copies(pod, answer.fits), seed=case), answer.fits
    simulation.run()
    present = {api.key(one) for one in simulation.cluster.objects(api.Pod).values()}
    for number in range(answer.fits, 200):
        new = copies(pod, number + 1)[-1]
        if simulation.add(new).run().placements[f"default/copy-{number}"].is_pending:
            break
        count += 1
    assert answer.with_preemption is not None
    assert answer.with_preemption.fits == count
    gone = present - {api.key(one) for one in simulation.cluster.objects(api.Pod).values()}
    assert set(answer.with_preemption.preempted) == gone


def test_devices_of_claim_templates_limit_how_many_fit() -> None:
    def resource(kind: str, name: str, spec: dict[str, object]) -> dict[str, object]:
        return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}

    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    gpus = [{"name": f"gpu-{number}"} for number in range(3)]
    slice_spec: dict[str, object] = {"driver": "gpu.example.com", "nodeName": "n1", "pool": pool, "devices": gpus}
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    devices = [
        resource("DeviceClass", "gpu", {}),
        resource("ResourceSlice", "gpus", slice_spec),
        resource("ResourceClaimTemplate", "gpu", {"spec": {"devices": {"requests": [request]}}}),
    ]
    nodes = [make_node(name).capacity(cpu="8", memory="8Gi", pods=10).obj() for name in ("n1", "n2")]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train"},
        "spec": {
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
            "containers": [{"name": "c", "image": "app", "resources": {"claims": [{"name": "gpu"}]}}],
        },
    }
    answer = plan.capacity(Simulation.load(nodes, devices), [pod])
    assert answer.per_node == {"n1": 3, "n2": 0}


def test_capacity_of_a_deployment_is_the_number_of_replicas_that_fit() -> None:
    nodes = [
        make_node(f"n{number}").capacity(cpu=str(2 + number), memory="8Gi", pods=10).label(HOSTNAME, f"n{number}").obj()
        for number in range(3)
    ]

    def deployment(replicas: int) -> dict[str, object]:
        spread = {
            "maxSkew": 1,
            "topologyKey": HOSTNAME,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
            "matchLabelKeys": ["pod-template-hash"],
        }
        pod = {
            "containers": [{"name": "c", "image": "app", "resources": {"requests": {"cpu": "500m"}}}],
            "topologySpreadConstraints": [spread],
        }
        spec = {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod},
        }
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}

    fits = plan.capacity(Simulation.load(nodes), [deployment(1)]).fits
    assert fits == 14
    assert not Simulation.load(nodes, deployment(fits)).run().pending
    assert len(Simulation.load(nodes, deployment(fits + 1)).run().pending) == 1


def test_pods_of_a_stateful_set_have_claims_of_their_own() -> None:
    """Three volumes, of which two are on the node with room for all pods."""
    nodes = [
        make_node(name).capacity(cpu="8", memory="8Gi", pods=10).label(HOSTNAME, name).obj() for name in ("n1", "n2")
    ]
    spec = {
        "selector": {"matchLabels": {"app": "db"}},
        "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c", "image": "app"}]}},
        "volumeClaimTemplates": [
            {
                "metadata": {"name": "data"},
                "spec": {
                    "storageClassName": "local",
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }
        ],
    }
    stateful_set = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": spec}
    storage = local_storage()
    volumes = [local_volume(f"v{number}", "n1" if number else "n2") for number in range(3)]
    answer = plan.capacity(Simulation.load(nodes, storage, volumes), [stateful_set])
    assert answer.per_node == {"n1": 2, "n2": 1}


def local_storage() -> api.StorageClass:
    metadata = api.ObjectMeta(name="local")
    return api.StorageClass(
        metadata=metadata, provisioner="kubernetes.io/no-provisioner", volume_binding_mode="WaitForFirstConsumer"
    )


def local_volume(name: str, node: str) -> dict[str, object]:
    terms = [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node]}]}]
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "local": {"path": "/x"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def test_pods_that_share_a_claim_are_bound_to_its_node() -> None:
    nodes = [
        make_node(name).capacity(cpu="2", memory="8Gi", pods=10).label(HOSTNAME, name).obj() for name in ("n1", "n2")
    ]
    storage = local_storage()
    claim = make_claim("data").storage_class("local").obj()
    pod = make_pod("web").req(cpu="1").pvc("data").obj()
    answer = plan.capacity(Simulation.load(nodes, storage, claim, local_volume("v", "n2")), [pod])
    assert answer.per_node == {"n1": 0, "n2": 2}


def test_pods_that_wait_are_placed_first_and_the_simulation_stays_as_it_is() -> None:
    node = make_node("n1").capacity(cpu="4", memory="8Gi", pods=10).obj()
    simulation = Simulation.load(node, make_pod("waiting").req(cpu="1").obj())
    version = simulation.cluster.resource_version
    assert plan.capacity(simulation, [make_pod("web").req(cpu="1").obj()]).fits == 3
    assert simulation.cluster.resource_version == version


def test_a_pod_that_waits_for_the_new_ones_is_woken_by_them() -> None:
    """A pending pod that wants to be near `web` takes the room of one of them."""
    node = make_node("n1").capacity(cpu="4", memory="8Gi", pods=10).label(HOSTNAME, "n1").obj()
    friend = make_pod("friend").req(cpu="2").pod_affinity(HOSTNAME, {"app": "web"}).obj()
    answer = plan.capacity(Simulation.load(node, friend), [make_pod("web").label("app", "web").req(cpu="1").obj()])
    assert answer.fits == 2
    assert answer.notes[0] == "1 pod of the cluster is pending already, and waits on"


def test_a_search_without_end_is_ended() -> None:
    node = make_node("n1").capacity(cpu="4", memory="8Gi", pods=100).obj()
    answer = plan.capacity(Simulation.load(node), [make_pod("web").obj()], most=50)
    assert (answer.fits, answer.limits) == (50, {})
    assert answer.notes == ("more than 50 fit: the search ended there",)


def test_nothing_fits_where_there_are_no_nodes() -> None:
    answer = plan.capacity(Simulation.load(), [make_pod("web").obj()])
    assert (answer.fits, answer.message) == (0, "no nodes available to schedule pods")


def test_a_weight_follows_the_file(tmp_path: Path) -> None:
    odd = tmp_path / "web:7"
    odd.write_text("", encoding="utf-8")
    assert parse_weight("web.yaml") == ("web.yaml", 1)
    assert parse_weight("web.yaml:3") == ("web.yaml", 3)
    assert parse_weight(str(odd)) == (str(odd), 1)
    with pytest.raises(InputError, match=r"--pod web\.yaml:0: is not a weight"):
        parse_weight("web.yaml:0")


def test_a_file_without_pods_is_refused_with_what_would_be_right(tmp_path: Path) -> None:
    file = tmp_path / "node.json"
    file.write_text('{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}', encoding="utf-8")
    with pytest.raises(InputError, match=r"node.json: has no pods; use a file with one Pod, or with one Deployment"):
        load_pods(file)


@pytest.mark.parametrize("preemption", [False, True])
@pytest.mark.parametrize("seconds", [None, 60])
def test_pods_that_a_taint_evicts_later_do_not_count(seconds: int | None, preemption: bool) -> None:
    key = "node.kubernetes.io/not-ready" if seconds is None else "maintenance"
    nodes = [make_node(f"n{number}").capacity(cpu="4", memory="8Gi", pods=10) for number in range(3)]
    cluster = [*(node.obj() for node in nodes[:2]), nodes[2].taint(key, effect="NoExecute").obj()]
    pod = make_pod("web").req(cpu="1").obj()
    if seconds is not None:
        short = api.Toleration(key=key, operator="Exists", effect="NoExecute", toleration_seconds=seconds)
        pod = _replace(pod, spec=_replace(pod.spec, tolerations=(short,)))
    answer = plan.capacity(Simulation.load(cluster), [pod], preemption=preemption)
    assert answer.fits == len(Simulation.load(cluster, copies(pod, 20)).run().placements) == 8
    assert answer.per_node["n2"] == 0
    assert answer.with_preemption is None or answer.with_preemption.fits == 8


def test_pods_that_tolerate_a_taint_for_ever_count() -> None:
    tainted = make_node("n1").capacity(cpu="4", memory="8Gi", pods=10).taint("maintenance", effect="NoExecute").obj()
    pod = make_pod("web").req(cpu="1").toleration("maintenance", effect="NoExecute").obj()
    assert plan.capacity(Simulation.load(tainted), [pod]).fits == 4


def test_the_answer_says_how_many_nodes_do_not_count_because_they_evict_the_pods_later() -> None:
    plain = make_node("n0").capacity(cpu="4", memory="8Gi", pods=10)
    failing = [
        make_node(name)
        .capacity(cpu="4", memory="8Gi", pods=10)
        .taint("node.kubernetes.io/not-ready", effect="NoExecute")
        for name in ("n1", "n2")
    ]
    unwelcoming = make_node("n3").capacity(cpu="4", memory="8Gi", pods=10).taint("maintenance", effect="NoExecute")
    cluster = [node.obj() for node in (plain, *failing, unwelcoming)]
    answer = plan.capacity(Simulation.load(cluster), [make_pod("web").req(cpu="1").obj()])
    told = "2 of 4 nodes are not counted: they have NoExecute taints that the pods tolerate only for a limited time"
    assert answer.notes == (told,)
    assert told in answer.to_dict()["notes"]
    lasting = make_pod("web").req(cpu="1").toleration("node.kubernetes.io/not-ready", effect="NoExecute").obj()
    assert not plan.capacity(Simulation.load(cluster), [lasting]).notes
