# SPDX-License-Identifier: Apache-2.0
"""Commands of fixes in shells: files may have names that a shell would run, and texts that its `echo` would change."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.fixes import clusters
from tests.fixes.test_claims_moves_and_quotas import FRAGMENTED

from steersman import Simulation, api
from steersman.explain.fixes import Fix, find_fixes
from steersman.testing import make_node, make_pod

SHELLS = [shell for shell in ("sh", "bash", "dash", "zsh") if shutil.which(shell)]
NAMES = [
    "r-1;touch PWNED;:",
    "$(touch PWNED)",
    "`touch PWNED`",
    "a'b;touch PWNED;'",
    'a"b$(touch PWNED)',
    "a\ntouch PWNED\n",
    "--kubeconfig=evil",
    "-fevil",
    "=touch",
    "a b",
    "x/../../secrets",
    "\x1b]0;x\x07",
]
KUBECTL = """#!{python}
import json, pathlib, sys
read = sys.stdin.read() if "-" in sys.argv else ""
with pathlib.Path("calls").open("a") as file:
    file.write(json.dumps([sys.argv[1:], read]) + "\\n")
print("{{}}")
"""


def run_in(shell: str, commands: tuple[str, ...], directory: Path) -> list[tuple[list[str], str]]:
    """Paste the commands into a shell, and return what kubectl was called with and what it read."""
    kubectl = directory / "bin" / "kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text(KUBECTL.format(python=shutil.which("python3")))
    kubectl.chmod(0o755)
    work = directory / "work"
    work.mkdir()
    environment = {"PATH": f"{kubectl.parent}:/usr/bin:/bin"}
    subprocess.run([shell], input="\n".join(commands), text=True, check=True, cwd=work, env=environment, timeout=60)
    assert {path.name for path in work.iterdir()} <= {"calls"}
    calls = work / "calls"
    return [tuple(json.loads(line)) for line in calls.read_text().splitlines()] if calls.exists() else []


def fixes_with(name: str) -> list[Fix]:
    """Fixes of pending pods in clusters in which a node, a pod, a namespace, a label or a taint is called so."""
    taint = make_node("n2").capacity(cpu="8", pods="9").taint("dedicated", name)
    label = make_pod("web").req(cpu="1").node_selector("disk", name)
    cases: list[tuple[str, list[Any]]] = [
        ("default/web", [make_node(name).capacity(cpu="8", pods="9").unschedulable().obj(), a_pod("web")]),
        ("default/web", [make_node(name).capacity(cpu="8", pods="9").taint("a", "b").obj(), a_pod("web")]),
        (f"default/{name}", [make_node("n1").capacity(cpu="1", pods="9").obj(), a_pod(name)]),
        (f"{name}/web", [make_node("n1").capacity(cpu="1", pods="9").obj(), a_pod("web", name)]),
        ("default/web", [taint.obj(), a_pod("web")]),
        ("default/web", [make_node("n1").capacity(cpu="8", pods="9").obj(), label.obj()]),
    ]
    return [fix for pod, objects in cases for fix in find_fixes(Simulation.load(objects), pod)]


def a_pod(name: str, namespace: str = "default") -> api.Pod:
    return make_pod(name).namespace(namespace).req(cpu="4").obj()


@pytest.mark.parametrize("name", NAMES)
def test_pasted_commands_of_hostile_names_run_nothing_but_kubectl_with_whole_words(name: str, tmp_path: Path) -> None:
    fixes = fixes_with(name)
    assert fixes
    assert any("an API server does not admit the name" in fix.summary for fix in fixes)
    commands = tuple(command for fix in fixes for command in fix.commands)
    for shell in SHELLS:
        (tmp_path / shell).mkdir()
        for words, _ in run_in(shell, commands, tmp_path / shell):
            positional = words[words.index("--") + 1 :] if "--" in words else []
            assert not any(name in word for word in words if word not in positional and not word.startswith("{"))


@pytest.mark.parametrize("shell", SHELLS)
def test_documents_reach_kubectl_as_they_are(shell: str, tmp_path: Path) -> None:
    text = 'x\\"}, name: want}} # \\n\\t\\c %s %d $HOME `id` \u00e9'
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "default"},
        "spec": {"hard": {"requests.cpu": "1"}},
    }
    pod = make_pod("web").req(cpu="2").annotation("note", text).obj()
    fixes = find_fixes(Simulation.load(make_node("n1").capacity(cpu="8", pods="9").obj(), quota, pod), "default/web")
    commands = tuple(command for fix in fixes for command in fix.commands if "apply" in command)
    assert commands
    calls = run_in(shell, commands, tmp_path)
    assert [words for words, _ in calls] == [["apply", "-f", "-"]] * len(commands)
    assert all(json.loads(read)["metadata"]["annotations"]["note"] == text for _, read in calls)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_command_of_a_move_names_the_pod_in_its_path_and_its_body(shell: str, tmp_path: Path) -> None:
    moves = [fix for fix in clusters.found(*FRAGMENTED, clusters.a_pod("web", "3")) if fix.moves]
    assert moves
    cordon, evict, uncordon = run_in(shell, moves[0].commands, tmp_path)
    move = moves[0].moves[0]
    assert (cordon[0], uncordon[0]) == (["cordon", "--", move.source], ["uncordon", "--", move.source])
    assert evict[0][2] == f"/api/v1/namespaces/default/pods/{move.name}/eviction"
    assert json.loads(evict[1])["metadata"]["name"] == move.name
