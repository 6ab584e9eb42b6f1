"""The Helm chart gives the objects of the manifests, and follows its values."""

from __future__ import annotations

import yaml
from tests.deploy.shipped import Objects, manifests, rendered


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
        "resources": {"limits": {"memory": "1Gi"}},
        "profiles": [{"schedulerName": "default-scheduler"}],
    }
    objects = rendered(values)
    deployment = objects["Deployment", "steersman"]["spec"]
    (container,) = deployment["template"]["spec"]["containers"]
    assert (deployment["replicas"], container["image"]) == (3, "example/steersman:v9")
    assert {"--secure-port=8443", "-v=4"} <= set(container["args"])
    assert container["ports"][0]["containerPort"] == objects["Service", "steersman"]["spec"]["ports"][0]["port"] == 8443
    assert container["resources"] == {"limits": {"memory": "1Gi"}}
    configuration = yaml.safe_load(objects["ConfigMap", "steersman"]["data"]["config.yaml"])
    assert configuration["profiles"] == [{"schedulerName": "default-scheduler"}]
