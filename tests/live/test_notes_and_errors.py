# SPDX-License-Identifier: Apache-2.0
"""What the reader is told before the tables, and instead of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.client.api_server import ApiServer
from tests.client.serving import run
from tests.live.asking import cluster, explained, scheduler_options

from steersman import api
from steersman.base.errors import SteersmanError
from steersman.explain import PodState
from steersman.explain.live import LiveError, read_simulation
from steersman.kube.client import Connection, http_transport
from steersman.run.app import RunOptions
from steersman.scheduler.diagnosis import CauseCode
from steersman.testing import make_pod


def refusal(server: ApiServer, pod: str, namespace: str = "default") -> str:
    with pytest.raises(SteersmanError) as failure:
        explained(server, pod, namespace)
    return str(failure.value)


def test_a_pod_that_another_scheduler_has_tried_is_explained_and_mended_as_one_of_its_own() -> None:
    server = cluster()
    tried = make_pod("web").req(cpu="9").scheduler("night-shift")
    server.store.create(tried.condition("PodScheduled", "False", reason="Unschedulable").obj())
    answer = explained(server, "web", fixes=True)
    assert answer.notes == (
        "the configuration of scheduler night-shift is unknown: the configuration of default-scheduler is used instead; "
        "--config gives another one",
    )
    assert answer.cause.sentence == "The pod needs 9 cpu on one node; 2 nodes are too small, with at most 4."
    assert [fix.kind for fix in answer.fixes or ()] == ["LowerRequests", "AddNode"]
    assert answer.when is not None
    assert answer.when.queue is not None


def test_a_pod_that_its_scheduler_has_not_tried_may_have_none() -> None:
    server = cluster()
    server.store.create(make_pod("web").scheduler("night-shift").obj())
    answer = explained(server, "web", fixes=True)
    assert (answer.state, answer.cause.code) == (PodState.PENDING, CauseCode.NO_PROFILE)
    assert answer.cause.sentence == (
        "No scheduler has tried the pod: it belongs to night-shift, which may not be running. "
        "With profile default-scheduler: the pod fits on 2 of 2 nodes."
    )
    assert [fix.kind for fix in answer.fixes or ()] == ["SetSchedulerName"]


def test_a_pod_of_another_scheduler_is_examined_with_the_default_profile() -> None:
    server = cluster()
    server.store.create(make_pod("web").scheduler("night-shift").obj())
    answer = explained(server, "web")
    (note,) = answer.notes
    assert note.startswith("the pod belongs to scheduler night-shift")
    assert (answer.scheduler_name, answer.explanation.profile) == ("night-shift", "default-scheduler")
    assert answer.explanation.node


def test_missing_api_groups_are_tolerated_and_named() -> None:
    server = cluster()
    server.faults.missing |= {api.ResourceClaim, api.ResourceSlice}
    server.store.create(make_pod("web").obj())
    assert explained(server, "web").notes == (
        "the API server does not know resourceslices.resource.k8s.io, resourceclaims.resource.k8s.io; none are assumed",
    )


def test_a_missing_group_that_rules_depend_on_is_an_error() -> None:
    server = cluster()
    server.faults.missing |= {api.PodDisruptionBudget}
    server.store.create(make_pod("web").obj())
    assert refusal(server, "web").startswith("cannot list poddisruptionbudgets.policy: ")


def test_plugins_and_configuration_of_ones_own_are_asked(tmp_path: Path) -> None:
    plugin = tmp_path / "never.py"
    plugin.write_text(
        "from steersman.framework import FilterPlugin, unschedulable\n"
        "class Never(FilterPlugin):\n"
        "    name = 'Never'\n"
        "    def filter(self, pod, node):\n"
        "        return unschedulable('never')\n"
    )
    server = cluster()
    server.store.create(make_pod("web").obj())
    answer = explained(server, "web", options=RunOptions(plugin_files=(str(plugin),)))
    assert answer.explanation.node_explanation("n0").verdicts[0].plugin == "Never"
    assert [waker.plugin for waker in answer.requeue_events] == ["Never"]


def test_a_name_that_exists_in_another_namespace_is_pointed_out() -> None:
    server = cluster()
    server.store.create(make_pod("web").namespace("shop").obj())
    assert refusal(server, "web") == "there is no pod web in namespace default, but in shop: use -n shop"


def test_similar_names_are_pointed_out() -> None:
    server = cluster()
    server.store.create(make_pod("web-0").obj())
    assert refusal(server, "web-O") == "there is no pod web-O in namespace default; similar names there: web-0"


def test_an_empty_namespace_is_answered_with_those_that_are_not() -> None:
    server = cluster()
    server.store.create(make_pod("web").namespace("shop").obj())
    assert refusal(server, "db", "shpo").endswith("which has no pods; namespaces with pods: shop")


def test_a_pod_that_has_ended_is_no_longer_scheduled() -> None:
    server = cluster()
    server.store.create(make_pod("job").node("n0").phase("Succeeded").obj())
    assert refusal(server, "job") == "pod default/job has finished (Succeeded): there is nothing to schedule"


def test_a_right_that_is_missing_is_named() -> None:
    server = cluster()
    server.faults.refuse(403, part_of_path="/csinodes", reason="Forbidden")
    told = refusal(server, "web")
    assert " does not allow this: list csinodes.storage.k8s.io: a fault; grant the rights of " in told
    assert "`steersman doctor`" in told


def test_credentials_that_are_refused_are_named() -> None:
    server = cluster()
    server.faults.refuse(401, times=99)
    assert "does not accept the credentials" in refusal(server, "web")


def test_a_server_that_cannot_be_reached_is_named() -> None:
    async def scenario() -> None:
        async with cluster().serving() as address:
            pass
        async with http_transport(Connection(address)) as transport:
            with pytest.raises(LiveError, match=f"cannot reach the API server at {address}"):
                await read_simulation(transport, scheduler_options(RunOptions()), address, ["default/web"])

    run(scenario())


def test_what_a_plugin_could_not_find_out_is_a_note(tmp_path: Path) -> None:
    plugin = tmp_path / "asks.py"
    plugin.write_text(
        "from steersman.framework import BackgroundPlugin, ScorePlugin\n\n"
        "class Asks(ScorePlugin, BackgroundPlugin):\n"
        "    name = 'Asks'\n\n"
        "    async def refresh(self):\n"
        "        raise OSError('nobody answers')\n\n"
        "    def score(self, pod, node):\n"
        "        return 0\n"
    )
    server = cluster()
    server.store.create(make_pod("web").obj())
    (note,) = explained(server, "web", options=RunOptions(plugin_files=(str(plugin),))).notes
    assert note == f'plugin "Asks" cannot refresh: OSError: nobody answers ({plugin}, line 7, in refresh)'
