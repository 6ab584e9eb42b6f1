# SPDX-License-Identifier: Apache-2.0
"""The real kubectl v1.36 on a sandbox: every command that people use."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.sandbox.conftest import Kubectl

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, labels: {app: api}}
spec:
  replicas: 2
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      containers:
      - {name: c, image: nginx, env: [{name: COLOUR, value: red}]}
"""
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, kind: CronTab, shortNames: [ct]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {schedule: {type: string, description: When it runs.}}}
    additionalPrinterColumns: [{name: Schedule, type: string, jsonPath: .spec.schedule}]
"""


@pytest.fixture
def kubectl(start_sandbox: Callable[..., Kubectl]) -> Kubectl:
    return start_sandbox("--nodes", "3")


def test_manifests_are_applied_compared_edited_and_deleted(kubectl: Kubectl, tmp_path: Path) -> None:
    file = tmp_path / "api.yaml"
    file.write_text(DEPLOYMENT)
    assert kubectl("apply", "-f", str(file)) == "deployment.apps/api created\n"
    assert kubectl("apply", "-f", str(file)) == "deployment.apps/api unchanged\n"
    file.write_text(DEPLOYMENT.replace("replicas: 2", "replicas: 3"))
    assert "+  replicas: 3" in kubectl("diff", "-f", str(file), code=1)
    assert kubectl("apply", "-f", str(file), "--dry-run=server") == "deployment.apps/api configured (server dry run)\n"
    assert kubectl("get", "deployment", "api", "-o", "jsonpath={.spec.replicas}") == "2"
    assert kubectl("apply", "-f", str(file)) == "deployment.apps/api configured\n"
    assert kubectl("wait", "--for=condition=Available", "deployment/api", "--timeout=60s").endswith("condition met\n")
    assert kubectl("patch", "deployment", "api", "-p", '{"spec":{"replicas":4}}') == "deployment.apps/api patched\n"
    assert kubectl("replace", "-f", str(file)) == "deployment.apps/api replaced\n"
    edited = kubectl.shell("KUBE_EDITOR='sed -i s/nginx/httpd/' kubectl edit deployment api")
    assert edited == "deployment.apps/api edited\n"
    assert kubectl("get", "deployment", "api", "-o", "jsonpath={..image}") == "httpd"
    assert kubectl("rollout", "restart", "deployment/api") == "deployment.apps/api restarted\n"
    assert "successfully rolled out" in kubectl("rollout", "status", "deployment/api", "--timeout=60s")
    assert "deleted" in kubectl("delete", "-f", str(file))
    kubectl("wait", "--for=delete", "pod", "-l", "app=api", "--timeout=60s")
    assert kubectl("get", "deployments") == "No resources found in default namespace.\n"


def test_a_deployment_has_a_history_that_can_be_gone_back_in(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    for image in ("nginx:2", "nginx:3"):
        kubectl("set", "image", "deployment/api", f"c={image}")
        kubectl("annotate", "deployment/api", f"kubernetes.io/change-cause={image}", "--overwrite")
        kubectl("rollout", "status", "deployment/api", "--timeout=60s")
    history = [line.split() for line in kubectl("rollout", "history", "deployment/api").splitlines()[2:] if line]
    assert history == [["1", "<none>"], ["2", "nginx:2"], ["3", "nginx:3"]]
    assert "Image:\tnginx:2" in kubectl("rollout", "history", "deployment/api", "--revision=2")
    kubectl("rollout", "undo", "deployment/api", "--to-revision=2")
    kubectl("wait", "--for=jsonpath={.status.updatedReplicas}=2", "deployment/api", "--timeout=60s")
    assert kubectl("get", "deployment", "api", "-o", "jsonpath={..image}") == "nginx:2"
    assert "unable to find" in kubectl("rollout", "undo", "deployment/api", "--to-revision=9", code=1)
    edited = kubectl.shell("KUBE_EDITOR='sed -i s/nginx:2/nginx:4/' kubectl edit deployment api -o yaml")
    assert "image: nginx:4" in edited


def test_services_and_secrets_are_completed(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    kubectl("expose", "deployment", "api", "--port=80", "--type=NodePort")
    name, kind, address, outside, ports, _ = kubectl("get", "service", "api", "--no-headers").split()
    assert (name, kind, outside) == ("api", "NodePort", "<none>")
    assert address.startswith("10.")
    assert ports.startswith("80:3")
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {word: open}\n"
    kubectl("apply", "-f", "-", stdin=secret)
    assert kubectl("get", "secret", "s", "-o", "jsonpath={.type} {.data.word}") == "Opaque b3Blbg=="


def test_a_misspelt_field_is_refused(kubectl: Kubectl) -> None:
    refused = kubectl("create", "-f", "-", stdin=DEPLOYMENT.replace("replicas", "replcas"), code=1)
    assert 'unknown field "spec.replcas"' in refused


def test_server_side_apply_knows_who_set_what(kubectl: Kubectl) -> None:
    applied = kubectl("apply", "--server-side", "-f", "-", stdin=DEPLOYMENT)
    assert applied == "deployment.apps/api serverside-applied\n"
    kubectl("scale", "deployment", "api", "--replicas=5")
    other = ("apply", "--server-side", "--field-manager=other", "-f", "-")
    conflict = kubectl(*other, stdin=DEPLOYMENT, code=1)
    assert "conflict" in conflict
    assert ".spec.replicas" in conflict
    assert "serverside-applied" in kubectl(*other, "--force-conflicts", stdin=DEPLOYMENT)
    assert kubectl("get", "deployment", "api", "-o", "jsonpath={.spec.replicas}") == "2"


def test_kustomizations_and_pruning_work(kubectl: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "api.yaml").write_text(DEPLOYMENT)
    (tmp_path / "kustomization.yaml").write_text("resources: [api.yaml]\n")
    assert "created" in kubectl("apply", "-k", str(tmp_path))
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {app: api}}\n"
    pruned = kubectl("apply", "--prune", "-l", "app=api", "-f", "-", stdin=config)
    assert "deployment.apps/api pruned" in pruned


def test_nodes_are_labelled_tainted_and_cordoned(kubectl: Kubectl) -> None:
    kubectl("label", "node", "node-0", "disk=ssd")
    kubectl("annotate", "node", "node-0", "note=yes")
    kubectl("taint", "node", "node-1", "dedicated=x:NoSchedule")
    assert kubectl("cordon", "node-2") == "node/node-2 cordoned\n"
    assert "SchedulingDisabled" in kubectl("get", "node", "node-2")
    kubectl("run", "here", "--image=nginx")
    kubectl("wait", "--for=condition=Ready", "pod/here", "--timeout=60s")
    assert kubectl("get", "pod", "here", "-o", "jsonpath={.spec.nodeName}") == "node-0"
    assert "Successfully assigned default/here to node-0" in kubectl("describe", "pod", "here")
    assert "Scheduled" in kubectl("events", "--for", "pod/here")
    assert "disk=ssd" in kubectl("describe", "node", "node-0")


def test_lists_are_printed_in_many_ways(kubectl: Kubectl) -> None:
    for name in ("b", "a"):
        kubectl("create", "configmap", name, f"--from-literal=key={name}")
    listed = ("get", "configmaps", "--field-selector", "metadata.name!=kube-root-ca.crt")
    assert kubectl(*listed, "-o", "name") == "configmap/a\nconfigmap/b\n"
    assert kubectl(*listed, "--sort-by=.data.key", "--no-headers", "-o", "custom-columns=K:.data.key") == "a\nb\n"
    assert [item["data"] for item in json.loads(kubectl(*listed, "-o", "json"))["items"]] == [
        {"key": "a"},
        {"key": "b"},
    ]
    assert "NAME" in kubectl("get", "nodes", "-o", "wide", "--chunk-size=1")
    watched = kubectl.shell(
        "(sleep 1; kubectl delete cm b) & timeout 4 kubectl get cm -w --output-watch-events || true"
    )
    assert [line.split()[:2] for line in watched.splitlines() if " b " in line] == [["ADDED", "b"], ["DELETED", "b"]]


def test_custom_resources_are_defined_printed_and_explained(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=DEFINITION)
    kubectl("wait", "--for=condition=Established", "crd/crontabs.stable.example.com", "--timeout=20s")
    tab = "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: a}\nspec: {schedule: often}\n"
    assert kubectl("apply", "-f", "-", stdin=tab) == "crontab.stable.example.com/a created\n"
    assert kubectl("get", "ct").split() == ["NAME", "SCHEDULE", "a", "often"]
    assert "When it runs." in kubectl("explain", "crontab.spec.schedule")
    kubectl("delete", "crd", "crontabs.stable.example.com")
    kubectl("get", "ct", code=1)


def test_questions_about_the_api_are_answered(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "delete", "pods") == "yes\n"
    assert "kubernetes-admin" in kubectl("auth", "whoami")
    assert "Number of desired pods" in kubectl("explain", "deployment.spec.replicas")
    assert "horizontalpodautoscalers" in kubectl("api-resources", "--categories=all")
    assert "v1.36.4" in kubectl("version")
    kubectl("run", "x", "--image=nginx")
    assert "run no containers" in kubectl("exec", "x", "--", "true", code=1)
    kubectl("wait", "--for=condition=Ready", "pod/x", "--timeout=60s")
    assert kubectl("logs", "x") == "container x of pod default/x is simulated and writes no more\n"
    assert "x " in kubectl("top", "pods")
