# SPDX-License-Identifier: Apache-2.0
import pytest

from steersman import api
from steersman.testing import exists, is_in, make_pod, not_in


def test_every_request_adds_a_container() -> None:
    spec = make_pod().req(cpu="1", memory="2Gi").req(cpu="500m").obj().spec
    assert [c.resources.requests for c in spec.containers] == [{"cpu": "1", "memory": "2Gi"}, {"cpu": "500m"}]
    assert len({c.name for c in spec.containers}) == 2


def test_resource_names_may_carry_a_domain_or_a_dash() -> None:
    spec = make_pod().req(ephemeral_storage="1Gi", **{"example.com/my_gpu": 2}).obj().spec
    assert spec.containers[0].resources.requests == {"ephemeral-storage": "1Gi", "example.com/my_gpu": 2}


def test_sidecars_are_init_containers_that_keep_running() -> None:
    spec = make_pod().init_req(cpu="1").sidecar_req(cpu="2").obj().spec
    assert [c.restart_policy for c in spec.init_containers] == [None, "Always"]


def test_pod_level_requests_and_overhead() -> None:
    spec = make_pod().pod_req(cpu="3").overhead(memory="1Mi").obj().spec
    assert spec.resources == api.ResourceRequirements(requests={"cpu": "3"})
    assert spec.overhead == {"memory": "1Mi"}


def test_a_toleration_without_a_value_accepts_any_value() -> None:
    tolerations = make_pod().toleration("gpu").toleration("team", "a", effect="NoExecute").obj().spec.tolerations
    assert tolerations == (
        api.Toleration(key="gpu", operator="Exists"),
        api.Toleration(key="team", operator="Equal", value="a", effect="NoExecute"),
    )


def test_every_required_node_affinity_is_a_term_of_its_own() -> None:
    pod = make_pod().required_node_affinity(is_in("zone", "a", "b"), exists("ssd"))
    affinity = pod.required_node_affinity(fields=[is_in("metadata.name", "n1")]).obj().spec.affinity
    assert affinity is not None
    assert affinity.node_affinity is not None
    selector = affinity.node_affinity.required_during_scheduling_ignored_during_execution
    assert selector == api.NodeSelector(
        node_selector_terms=(
            api.NodeSelectorTerm(
                match_expressions=(
                    api.NodeSelectorRequirement(key="zone", operator="In", values=("a", "b")),
                    api.NodeSelectorRequirement(key="ssd", operator="Exists"),
                )
            ),
            api.NodeSelectorTerm(
                match_fields=(api.NodeSelectorRequirement(key="metadata.name", operator="In", values=("n1",)),)
            ),
        )
    )


def test_preferred_node_affinity_keeps_the_required_one() -> None:
    affinity = (
        make_pod().required_node_affinity(exists("a")).preferred_node_affinity(7, exists("b")).obj().spec.affinity
    )
    assert affinity is not None
    assert affinity.node_affinity is not None
    assert affinity.node_affinity.required_during_scheduling_ignored_during_execution is not None
    (preferred,) = affinity.node_affinity.preferred_during_scheduling_ignored_during_execution
    assert preferred.weight == 7


def test_a_weight_makes_a_pod_affinity_term_a_preference() -> None:
    pod = make_pod().pod_affinity("zone", {"app": "web"}).anti_affinity("host", not_in("app", "db"), weight=5)
    affinity = pod.obj().spec.affinity
    assert affinity == api.Affinity(
        pod_affinity=api.PodAffinity(
            required_during_scheduling_ignored_during_execution=(
                api.PodAffinityTerm(topology_key="zone", label_selector=api.LabelSelector(match_labels={"app": "web"})),
            )
        ),
        pod_anti_affinity=api.PodAntiAffinity(
            preferred_during_scheduling_ignored_during_execution=(
                api.WeightedPodAffinityTerm(
                    weight=5,
                    pod_affinity_term=api.PodAffinityTerm(
                        topology_key="host",
                        label_selector=api.LabelSelector(
                            match_expressions=(
                                api.LabelSelectorRequirement(key="app", operator="NotIn", values=("db",)),
                            )
                        ),
                    ),
                ),
            )
        ),
    )


def test_a_preferred_term_without_a_weight_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a weight"):
        make_pod().pod_affinity("zone", {"app": "web"}, required=False)


def test_namespaces_of_an_affinity_term() -> None:
    pod = make_pod().pod_affinity("zone", None, namespaces=["a"], namespace_selector={})
    affinity = pod.obj().spec.affinity
    assert affinity is not None
    assert affinity.pod_affinity is not None
    (term,) = affinity.pod_affinity.required_during_scheduling_ignored_during_execution
    assert term == api.PodAffinityTerm(topology_key="zone", namespaces=("a",), namespace_selector=api.LabelSelector())


def test_spread_constraints() -> None:
    (constraint,) = (
        make_pod()
        .spread("zone", max_skew=2, when="ScheduleAnyway", selector={"a": "b"})
        .obj()
        .spec.topology_spread_constraints
    )
    assert constraint == api.TopologySpreadConstraint(
        max_skew=2,
        topology_key="zone",
        when_unsatisfiable="ScheduleAnyway",
        label_selector=api.LabelSelector(match_labels={"a": "b"}),
    )


def test_ports_images_claims_and_gates() -> None:
    spec = make_pod().host_port(80).image("nginx").pvc("data").gate("wait").gate("more").obj().spec
    assert spec.containers[0].ports == (api.ContainerPort(host_port=80, container_port=80, protocol="TCP"),)
    assert spec.containers[1].image == "nginx"
    assert spec.volumes[0].persistent_volume_claim == api.PersistentVolumeClaimVolumeSource(claim_name="data")
    assert [gate.name for gate in spec.scheduling_gates] == ["wait", "more"]


def test_a_pod_in_the_course_of_its_life() -> None:
    pod = make_pod().node("n1").nominated("n2").phase("Running").priority(5).scheduler("mine").terminating().obj()
    assert (pod.spec.node_name, pod.spec.priority, pod.spec.scheduler_name) == ("n1", 5, "mine")
    assert (pod.status.nominated_node_name, pod.status.phase) == ("n2", "Running")
    assert pod.metadata.deletion_timestamp is not None


def test_info_is_what_plugins_see() -> None:
    info = make_pod("web").req(cpu="250m").host_port(80).anti_affinity("zone", {"app": "web"}).info()
    assert info.key == "default/web"
    assert info.requests("cpu") == 250
    assert info.shape.host_ports == (("0.0.0.0", "TCP", 80),)
    assert info.shape.required_anti_affinity[0].namespaces == {"default"}
