# SPDX-License-Identifier: Apache-2.0
"""Pods that ask for what they use: files of krr and Prometheus, and what becomes of the cluster."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.plan.test_disruption import a_workload

from steersman import Simulation, api, plan
from steersman.base.errors import InputError
from steersman.framework.pod_resources import pod_requests
from steersman.plan.usage import ContainerName, Usage, read_usage
from steersman.simulation.inputs.sources import gather
from steersman.testing import make_node, make_pod

KRR = """\
Namespace,Name,Pods,Old Pods,Type,Container,CPU Diff,CPU Requests,CPU Limits,Memory Diff,Memory Requests,Memory Limits
default,web,3,0,Deployment,app,-2400m,(-800m) 1 -> 200m,unset,,(-900Mi) 1Gi -> 124Mi,(-900Mi) 1Gi -> 124Mi
,,,,,sidecar,+30m,unset -> 10m,unset,,?,?
other,db,1,0,StatefulSet,db,,100m -> ?,unset,,64Mi -> 100M,unset
"""
PROMETHEUS = """\
namespace,pod,container,cpu,memory
default,web-0,app,0.25,1.5e8
default,web-0,app,0.75,1.0e8
default,web-0,POD,0.001,1000
"""


def usage_of(text: str, **options: Any) -> Usage:
    return read_usage(csv.reader(io.StringIO(text)), "usage.csv", **options)


def objects_of(*sources: Any) -> list[api.Object]:
    return [given.object for given in gather(sources).objects]


def test_a_file_of_krr_names_workloads_once_and_recommends_after_the_arrow() -> None:
    assert usage_of(KRR) == {
        ContainerName("default", "", "Deployment", "web", "app"): {"cpu": 0.2, "memory": 124 * 2**20},
        ContainerName("default", "", "Deployment", "web", "sidecar"): {"cpu": 0.01},
        ContainerName("other", "", "StatefulSet", "db", "db"): {"memory": 1e8},
    }


def test_of_several_samples_the_greatest_or_a_percentile_counts() -> None:
    web = ContainerName("default", "web-0", "", "", "app")
    assert usage_of(PROMETHEUS) == {web: {"cpu": 0.75, "memory": 1.5e8}}
    assert usage_of(PROMETHEUS, percentile=50) == {web: {"cpu": 0.25, "memory": 1.0e8}}


def test_columns_may_be_called_otherwise() -> None:
    found = usage_of("Pod,Value #A\nweb-0,0.5\n", columns={"cpu": "Value #A"})
    assert found == {ContainerName("default", "web-0", "", "", ""): {"cpu": 0.5}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n", "usage.csv, line 1: has no column with pods or workloads; columns may be called pod, pod_name"),
        ("pod,b\n", "usage.csv, line 1: has no column with cpu or memory"),
        ("pod,cpu\nweb,much\n", 'usage.csv, line 2: cpu: is not an amount (got "much"); use a number or a quantity'),
        ("pod,cpu\nweb,-1\n", 'usage.csv, line 2: cpu: is not an amount (got "-1")'),
        ("pod,cpu\n,1\n", "usage.csv, line 2: pod: is missing"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_by_line_and_column(text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        usage_of(text)
    assert str(refused.value).startswith(message)


def test_a_pending_pod_fits_once_others_ask_for_what_they_use() -> None:
    node = make_node("n1").capacity(cpu="2", memory="4Gi", pods=10).obj()
    greedy = make_pod("greedy").req(cpu="2", memory="1Gi").node("n1").obj()
    waiting = make_pod("waiting").req(cpu="1").obj()
    usage = usage_of("pod,cpu,memory\ngreedy,0.2,100Mi\n")
    answer = plan.requests([node, greedy, waiting], usage)
    assert answer.placed == {"default/waiting": "n1"}
    assert answer.missing == ("default/waiting",)
    assert [(one.workload, one.cpu_before, one.cpu_after) for one in answer.workloads] == [
        ("default/greedy", 2000, 200),
        ("default/waiting", 1000, 1000),
    ]
    assert answer.is_met


def test_a_node_whose_pods_use_more_than_it_has_is_named() -> None:
    node = make_node("n1").capacity(cpu="1", memory="4Gi", pods=10).obj()
    pods = [make_pod(f"p{number}").req(cpu="100m").node("n1").obj() for number in range(2)]
    answer = plan.requests([node, *pods], usage_of("pod,cpu\np0,800m\np1,800m\nnobody,1\n"))
    assert answer.overcommitted == {"n1": ["cpu"]}
    assert answer.unknown == ("default/nobody",)
    assert not answer.is_met


def test_pods_of_a_deployment_take_what_the_file_says_of_it_with_headroom() -> None:
    nodes = [make_node(f"n{number}").capacity(cpu="4", memory="4Gi", pods=10).obj() for number in range(2)]
    objects = objects_of(nodes, a_workload("Deployment", "web", 4, "2"))
    usage = usage_of("Namespace,Name,Type,Container,CPU Requests\ndefault,web,Deployment,c,2 -> 500m\n")
    answer = plan.requests(objects, usage, headroom=20)
    (web,) = answer.workloads
    assert (web.pods, web.cpu_before, web.cpu_after) == (4, 8000, 2400)
    assert answer.missing == ()


def replicas_with_usage() -> tuple[list[api.Object], Usage]:
    """Three replicas that ask for 2 CPUs each; one uses 0.1, one 0.3, and of one nothing is known."""
    node = make_node("n1").capacity(cpu="8", memory="4Gi", pods=10).obj()
    pods = [make_pod(f"web-{n}").req(cpu="2").node("n1").owner("ReplicaSet", "web-1", uid="u").obj() for n in range(3)]
    return [node, *pods], usage_of("pod,cpu\nweb-0,100m\nweb-1,300m\n")


def test_all_pods_of_a_workload_get_the_same_requests() -> None:
    objects, usage = replicas_with_usage()
    answer = plan.requests(objects, usage)
    assert answer.workloads[0].cpu_after == 3 * 300
    assert answer.missing == ()
    assert plan.requests(objects, usage, pod_percentile=50).workloads[0].cpu_after == 3 * 100


def test_the_values_to_write_down_are_named_per_container_of_a_workload() -> None:
    objects, usage = replicas_with_usage()
    answer = plan.requests(objects, usage, headroom=15)
    (value,) = answer.containers
    assert (value.workload, value.pods) == ("default/ReplicaSet web-1", 3)
    assert (value.cpu_now, value.cpu_proposed, value.memory_proposed) == ("2", "345m", "")
    assert answer.workloads[0].cpu_after == 3 * 345
    assert answer.rows()[0]["cpuProposed"] == "345m"


def test_a_percentile_of_pods_that_is_none_is_refused() -> None:
    objects, usage = replicas_with_usage()
    with pytest.raises(InputError, match="is not a percentile"):
        plan.requests(objects, usage, pod_percentile=0)


def test_what_was_allocated_before_and_limits_below_do_not_count() -> None:
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {
            "nodeName": "n1",
            "resources": {"requests": {"cpu": "1"}},
            "containers": [{"name": "c", "image": "app", "resources": resources}],
        },
        "status": {"phase": "Running", "containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "1"}}]},
    }
    node = make_node("n1").capacity(cpu="8", memory="4Gi", pods=10).obj()
    loaded: list[list[api.Object]] = []

    def load(objects: Any) -> Simulation:
        loaded.append(objects)
        return Simulation.load(objects)

    answer = plan.requests(objects_of(node, pod), usage_of("pod,cpu\np,1500m\n"), load=load)
    changed = next(obj for obj in loaded[-1] if isinstance(obj, api.Pod))
    assert pod_requests(changed)["cpu"] == 1500
    assert changed.spec.containers[0].resources.limits == {"cpu": "1500m"}
    assert answer.workloads[0].cpu_after == 1500


def test_everything_placed_again_may_need_fewer_nodes() -> None:
    nodes = [make_node(f"n{number}").capacity(cpu="4", memory="4Gi", pods=10).obj() for number in range(3)]
    pods = [make_pod(f"p{number}").req(cpu="3").node(f"n{number}").node_selector("x", "y").obj() for number in range(3)]
    labelled = [
        msgspec.structs.replace(node, metadata=msgspec.structs.replace(node.metadata, labels={"x": "y"}))
        for node in nodes
    ]
    usage = usage_of("pod,cpu\np0,1\np1,1\np2,1\n")
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {"score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}},
                "pluginConfig": [
                    {
                        "name": "NodeResourcesFit",
                        "args": {
                            "scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
                        },
                    }
                ],
            }
        ],
    }
    answer = plan.requests(
        [*labelled, *pods], usage, load=lambda objects: Simulation.load(objects, config=config), reschedule=True
    )
    assert (answer.now.nodes_used, answer.then.nodes_used) == (3, 1)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: cannot be read"):
        plan.load_usage(tmp_path / "none.csv")
