# SPDX-License-Identifier: Apache-2.0
"""The Helm chart gives the objects of the manifests, and follows its values."""

from __future__ import annotations

import pytest
import yaml
from tests.deploy.shipped import ChartRefusalError, Objects, manifests, rendered


def with_parsed_configuration(objects: Objects) -> Objects:
    """The text of the configuration may differ in its layout."""
    for (kind, _), document in objects.items():
        if kind == "ConfigMap":
            document["data"]["config.yaml"] = yaml.safe_load(document["data"]["config.yaml"])
    return objects


def test_with_its_default_values_the_chart_gives_the_manifests() -> None:
    assert with_parsed_configuration(rendered({})) == with_parsed_configuration(manifests("manifests"))


def test_monitoring_is_added_on_demand() -> None:
    expected = with_parsed_configuration(manifests("manifests", "monitoring"))
    assert with_parsed_configuration(rendered({"monitoring": {"enabled": True}})) == expected


def test_another_release_shares_no_name_with_the_first() -> None:
    first, second = rendered({}), rendered({}, release="night", namespace="batch")
    assert not first.keys() & second.keys()
    elsewhere = {key for key, document in second.items() if document["metadata"].get("namespace", "batch") != "batch"}
    assert elsewhere == {("Role", "night-authentication"), ("RoleBinding", "night-authentication")}
    assert second["RoleBinding", "night-authentication"]["subjects"][0]["namespace"] == "batch"
    role = second["Role", "night"]
    election = yaml.safe_load(second["ConfigMap", "night"]["data"]["config.yaml"])["leaderElection"]
    assert role["rules"][1]["resourceNames"] == [election["resourceName"]] == ["night"]
    assert role["metadata"]["namespace"] == election["resourceNamespace"]


def test_values_reach_the_deployment() -> None:
    values = {
        "replicas": 3,
        "image": {"repository": "example/steersman", "tag": "v9"},
        "securePort": 8443,
        "verbosity": 4,
        "resources": {"limits": {"memory": "4Gi"}},
        "profiles": [{"schedulerName": "night-shift"}],
    }
    objects = rendered(values)
    deployment = objects["Deployment", "steersman"]["spec"]
    (container,) = deployment["template"]["spec"]["containers"]
    assert (deployment["replicas"], container["image"]) == (3, "example/steersman:v9")
    assert {"--secure-port=8443", "-v=4"} <= set(container["args"])
    assert container["ports"][0]["containerPort"] == objects["Service", "steersman"]["spec"]["ports"][0]["port"] == 8443
    assert container["resources"] == {"requests": {"cpu": "200m", "memory": "256Mi"}, "limits": {"memory": "4Gi"}}
    configuration = yaml.safe_load(objects["ConfigMap", "steersman"]["data"]["config.yaml"])
    assert configuration["profiles"] == [{"schedulerName": "night-shift"}]


def test_an_image_is_named_by_its_digest_when_there_is_one() -> None:
    image = {"repository": "example/steersman", "tag": "v9", "digest": "sha256:5e5e"}
    (container,) = rendered({"image": image})["Deployment", "steersman"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "example/steersman@sha256:5e5e"


@pytest.mark.parametrize("profile", [{"schedulerName": "default-scheduler"}, {"percentageOfNodesToScore": 50}])
def test_a_profile_that_would_have_to_schedule_its_own_pods_is_refused(profile: dict[str, object]) -> None:
    with pytest.raises(ChartRefusalError, match="nobody would start them again"):
        rendered({"profiles": [{"schedulerName": "steersman"}, profile]})


@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        ("podDisruptionBudget", {"PodDisruptionBudget"}),
        ("networkPolicy", {"NetworkPolicy"}),
        ("flowControl", {"FlowSchema", "PriorityLevelConfiguration"}),
    ],
)
def test_parts_can_be_left_out(value: str, kinds: set[str]) -> None:
    complete, partial = rendered({}), rendered({value: {"enabled": False}})
    assert {kind for kind, _ in complete.keys() - partial.keys()} == kinds


def test_an_extender_is_reached_when_its_address_is_added_to_the_values() -> None:
    egress = [{"to": [{"podSelector": {"matchLabels": {"app": "extender"}}}], "ports": [{"port": 8888}]}]
    policy = rendered({"networkPolicy": {"enabled": True, "egress": egress}})["NetworkPolicy", "steersman"]
    assert policy["spec"]["egress"] == egress


def test_requests_of_another_release_have_flow_schemas_of_their_own() -> None:
    objects = rendered({}, release="night", namespace="batch")
    for name in ("night", "night-leader-election"):
        (rule,) = objects["FlowSchema", name]["spec"]["rules"]
        account = objects["ServiceAccount", "night"]["metadata"]
        assert [subject["serviceAccount"] for subject in rule["subjects"]] == [
            {"name": account["name"], "namespace": account["namespace"]}
        ]
