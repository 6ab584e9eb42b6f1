# SPDX-License-Identifier: Apache-2.0
"""The Helm chart gives the objects of the manifests, and follows its values."""

from __future__ import annotations

import pytest
import yaml
from tests.deploy.shipped import DEPLOY, ChartRefusalError, Document, Objects, manifests, rendered

from steersman import config
from steersman.cli.run import run, run_options


def with_parsed_configuration(objects: Objects) -> Objects:
    """The text of the configuration may differ in its layout, and only the chart knows its checksum."""
    for (kind, _), document in objects.items():
        if kind == "ConfigMap":
            document["data"]["config.yaml"] = yaml.safe_load(document["data"]["config.yaml"])
        if kind == "Deployment":
            document["spec"]["template"]["metadata"].pop("annotations", None)
    return objects


def configuration(objects: Objects, release: str = "steersman") -> Document:
    document: Document = yaml.safe_load(objects["ConfigMap", release]["data"]["config.yaml"])
    return document


def pod_template(objects: Objects) -> Document:
    template: Document = objects["Deployment", "steersman"]["spec"]["template"]
    return template


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


WHOLE = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "clientConnection": {"qps": 500, "burst": 1000},
    "podInitialBackoffSeconds": 2,
    "percentageOfNodesToScore": 100,
    "leaderElection": {"leaseDuration": "30s", "resourceName": "night", "resourceNamespace": "leases"},
    "extenders": [{"urlPrefix": "https://extender.example:8888", "filterVerb": "filter"}],
    "profiles": [{"schedulerName": "packed"}, {"schedulerName": "spread"}],
}


def test_a_whole_configuration_reaches_the_scheduler_and_its_lease_is_permitted() -> None:
    objects = rendered({"config": WHOLE})
    written = configuration(objects)
    election = {"leaderElect": True, **WHOLE["leaderElection"]}  # type: ignore[dict-item]
    assert written == {**WHOLE, "leaderElection": election}
    config.load(objects["ConfigMap", "steersman"]["data"]["config.yaml"])
    role = objects["Role", "steersman"]
    assert (role["metadata"]["namespace"], role["rules"][1]["resourceNames"]) == ("leases", ["night"])
    assert objects["RoleBinding", "steersman"]["metadata"]["namespace"] == "leases"


def test_a_part_of_a_configuration_is_completed() -> None:
    written = configuration(rendered({"config": {"podMaxBackoffSeconds": 20}}))
    assert written["podMaxBackoffSeconds"] == 20
    assert written["profiles"] == [{"schedulerName": "steersman"}]
    assert written["leaderElection"]["resourceName"] == "steersman"


def test_the_profiles_of_a_whole_configuration_must_not_schedule_its_own_pods_either() -> None:
    with pytest.raises(ChartRefusalError, match="nobody would start them again"):
        rendered({"config": {"profiles": [{"schedulerName": "default-scheduler"}]}})


def test_two_replicas_without_leader_election_are_refused() -> None:
    alone = {"leaderElection": {"leaderElect": False}}
    with pytest.raises(ChartRefusalError, match="all of them would schedule"):
        rendered({"config": alone})
    assert configuration(rendered({"config": alone, "replicas": 1}))["leaderElection"]["leaderElect"] is False


@pytest.mark.parametrize(
    "values", [{"config": {"percentageOfNodesToScore": 50}}, {"plugins": {"cheap.py": "name = 1\n"}}]
)
def test_another_configuration_rolls_the_pods(values: Document) -> None:
    before, after = (pod_template(rendered(one))["metadata"]["annotations"] for one in ({}, values))
    assert before.keys() == after.keys() == {"checksum/config"}
    assert before != after
    assert before == pod_template(rendered({"verbosity": 4}))["metadata"]["annotations"]


def test_arguments_record_page_and_plugins_reach_the_container() -> None:
    values = {
        "extraArgs": ["--kube-api-qps=500"],
        "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
        "extraVolumes": [{"name": "ca", "secret": {"secretName": "ca"}}],
        "extraVolumeMounts": [{"name": "ca", "mountPath": "/ca", "readOnly": True}],
        "record": {"enabled": True, "age": "72h"},
        "web": {"enabled": True},
        "plugins": {"cheap.py": "import steersman\n"},
    }
    objects = rendered(values)
    spec = pod_template(objects)["spec"]
    (container,) = spec["containers"]
    given = ["--web", "--record=/var/lib/steersman/record", "--record-size=1Gi", "--record-age=72h"]
    given += ["--plugin=/etc/steersman-plugins/cheap.py", "--kube-api-qps=500"]
    assert container["args"][-6:] == given
    with run.make_context("run", container["args"][1:]) as context:
        assert run_options(context).record is not None
    mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounted.keys() == {volume["name"] for volume in spec["volumes"]}
    assert (mounted["record"], mounted["ca"]) == ("/var/lib/steersman/record", "/ca")
    assert spec["securityContext"]["fsGroup"] == spec["securityContext"]["runAsGroup"]
    assert objects["ConfigMap", "steersman-plugins"]["data"] == {"cheap.py": "import steersman\n"}
    assert container["env"][-1]["name"] == "HTTPS_PROXY"


def test_placement_and_pull_secrets_can_be_chosen() -> None:
    values = {
        "nodeSelector": {"pool": "system"},
        "affinity": {"nodeAffinity": {}},
        "tolerations": [{"operator": "Exists"}],
        "imagePullSecrets": [{"name": "registry"}],
        "podAnnotations": {"team": "a"},
    }
    template = pod_template(rendered(values))
    for field in ("nodeSelector", "affinity", "tolerations", "imagePullSecrets"):
        assert template["spec"][field] == values[field]
    assert template["metadata"]["annotations"]["team"] == "a"


def test_the_rights_of_plugins_are_added_to_the_role() -> None:
    rule = {"apiGroups": ["example.com"], "resources": ["quotas"], "verbs": ["list", "watch"]}
    assert rendered({"extraRules": [rule]})["ClusterRole", "steersman"]["rules"][-1] == rule


def test_the_service_account_is_made_before_the_deployment_that_needs_it() -> None:
    """kubectl applies the files of a folder in the order of their names."""
    files = {path.name: path.read_text() for path in sorted((DEPLOY / "manifests").glob("*.yaml"))}
    kinds = [line.split()[1] for text in files.values() for line in text.splitlines() if line.startswith("kind: ")]
    assert max(kinds.index(kind) for kind in ("ServiceAccount", "ConfigMap")) < kinds.index("Deployment")


def test_every_file_of_the_folders_to_apply_is_a_manifest() -> None:
    for folder in ("manifests", "monitoring", "admission", "shadow"):
        for path in (DEPLOY / folder).iterdir():
            assert path.is_dir() or all(yaml.safe_load_all(path.read_text())), path
            assert path.is_dir() or path.suffix == ".yaml", path
