# SPDX-License-Identifier: Apache-2.0
"""Actions on the page of a sandbox: objects, import, export and reset of the cluster, clock.

`kube/…` is the Kubernetes API of the sandbox; the rest uses the same store.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import quote

import msgspec

from steersman import api
from steersman.base import InputError, SteersmanError
from steersman.cluster.apiserver import ApiRequest, ApiService, Catalog, RequestRefused, TokenUser, WatchAnswer
from steersman.cluster.store import Store
from steersman.kube.serving import Answer, Request
from steersman.sandbox.applied_configuration import AppliedConfiguration
from steersman.sandbox.clock_page import ClockPage, speed_text
from steersman.sandbox.cluster_files import SNAPSHOT_CONFIGURATION, ClusterFiles, ImportResult
from steersman.sandbox.object_creation import create_objects
from steersman.sandbox.object_templates import template_list
from steersman.sandbox.web import PREFIX, ClockPart, WebRefusal, bad_request, json_page
from steersman.sandbox.web.answers import InputProblem, problem_of
from steersman.sandbox.web.configuration_handlers import EditedConfiguration
from steersman.sandbox.web.configuration_page import problems_of
from steersman.sandbox.web.host import Action
from steersman.sandbox.web.refusals import decoded_body
from steersman.scheduler.host import ScaledClock

FORMATS: Final = ("manifests", "simulator")
_ADMIN: Final = TokenUser("kubernetes-admin", ("system:masters", "system:authenticated"))
_replace = msgspec.structs.replace
CAPABILITIES: Final = ("apply", "objects", "export", "clock", "decisionStep", "history")


class SandboxClock:
    """Clock of a sandbox, for its web page."""

    def __init__(self, clock: ScaledClock, page: ClockPage) -> None:
        self._clock = clock
        self._page = page

    def part(self) -> ClockPart:
        clock = self._clock
        return ClockPart(clock.now(), clock.is_paused, clock.is_stepping, speed_text(clock))

    def change(self, change: dict[str, object]) -> None:
        """Change the clock. Raise `WebRefusal`. Steps of time include decisions, not vice versa."""
        try:
            self._page(change)
        except RequestRefused as refusal:
            raise bad_request(str(refusal)) from refusal


class SandboxActions:
    """Handlers of a sandbox. `durable` returns when all writes would survive a crash."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        service: ApiService,
        clock: SandboxClock,
        configuration: AppliedConfiguration,
        durable: Callable[[], Awaitable[None]],
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._service = service
        self.clock = clock
        self.configuration = configuration
        self._durable = durable
        self._files = ClusterFiles(store, catalog)

    def by_path(self) -> dict[str, Action]:
        return {
            "* kube/": self._kube,
            "GET templates": self._templates,
            "POST objects": self._create,
            "GET export": self._export,
            "POST import": self._import,
            "POST reset": self._reset,
            "GET clock": self._show_clock,
            "POST clock": self._change_clock,
            "POST configuration/apply": self._apply,
        }

    async def _kube(self, request: Request) -> Answer:
        """Return the API server's answer to the path after `kube`."""
        path = quote(request.path.removeprefix(f"{PREFIX}kube"), safe="/:@")
        headers = {name.lower(): value for name, value in request.headers.items()}
        if request.has("watch") or "/watch/" in path:
            raise bad_request("watch: there are no watches here: use stream")
        kube_request = ApiRequest(request.method, path, dict(request.query), headers, request.body or b"", _ADMIN)
        answer = self._service.answer(kube_request)
        assert not isinstance(answer, WatchAnswer), "watches have been refused"
        await self._durable()
        more = {"Warning": ", ".join(f'299 - "{_plain(text)}"' for text in answer.warnings)} if answer.warnings else {}
        return Answer(answer.code, answer.content(), answer.content_type, {**answer.headers, **more})

    async def _templates(self, request: Request) -> Answer:
        labels = (node.metadata.labels for node in self._store.objects(api.Node).values())
        zones = sorted({found[api.ZONE_LABEL] for found in labels if api.ZONE_LABEL in found})
        return json_page(template_list(self._catalog, zones[0] if zones else ""))

    async def _create(self, request: Request) -> Answer:
        """Create the objects of a text, or only check them with `dryRun=true`."""
        text = (request.body or b"").decode("utf-8", "replace")
        dry_run = request.value("dryRun") == "true"
        result = create_objects(
            text, request.value("namespace"), dry_run=dry_run, catalog=self._catalog, call=self._call
        )
        await self._durable()
        return json_page(result)

    def _call(
        self, method: str, path: str, query: dict[str, str], content_type: str, body: bytes
    ) -> tuple[int, dict[str, Any]]:
        headers = {"content-type": content_type, "accept": "application/json"}
        answer = self._service.answer(ApiRequest(method, quote(path, safe="/:@"), query, headers, body, _ADMIN))
        assert not isinstance(answer, WatchAnswer), "nothing is watched"
        return answer.code, msgspec.json.decode(answer.content())

    async def _export(self, request: Request) -> Answer:
        chosen = _format(request)
        body, name = await self._files.exported(chosen, self.configuration.document())
        kind = "application/yaml" if chosen == "manifests" else "application/json"
        return Answer(200, body, kind, {"Content-Disposition": f'attachment; filename="{name}"'})

    async def _import(self, request: Request) -> Answer:
        """Import a file; `replace=true` empties the cluster before. Apply its configuration."""
        replaces = request.value("replace") == "true"
        try:
            given = self._files.read(request.body or b"", _format(request))
        except InputError as error:
            raise WebRefusal(422, "Invalid", str(error), [problem_of(error)]) from error
        if replaces:
            await self._files.empty()
        problems = await self._configured(given.configuration) if given.configuration else []
        result = await self._files.stored(given.documents)
        await self._durable()
        is_applied = bool(given.configuration) and not problems
        return json_page(ImportResult(result.created, result.updated, [*problems, *result.problems], is_applied))

    async def _configured(self, text: str) -> list[InputProblem]:
        """Apply the configuration of a file; return the problems if it is invalid."""
        try:
            await self.configuration.apply(text)
        except InputError as error:
            return [_replace(problem_of(error), object=SNAPSHOT_CONFIGURATION, line=None)]
        return []

    async def _apply(self, request: Request) -> Answer:
        """Apply an edited configuration to a new scheduler; streams restart with a new epoch."""
        text = decoded_body(request, EditedConfiguration).yaml
        try:
            await self.configuration.apply(text)
        except InputError as error:
            raise WebRefusal(422, "Invalid", str(error), problems_of(error, text)) from error
        return json_page({"applied": True})

    async def _reset(self, request: Request) -> Answer:
        await self.configuration.restore()
        deleted = await self._files.reset()
        await self._durable()
        return json_page({"deleted": deleted})

    async def _show_clock(self, request: Request) -> Answer:
        return json_page(self.clock.part())

    async def _change_clock(self, request: Request) -> Answer:
        try:
            change = msgspec.json.decode(request.body or b"", type=dict[str, object])
        except msgspec.DecodeError as error:
            raise bad_request('the body is no JSON object such as {"paused": true}') from error
        try:
            self.clock.change(change)
        except SteersmanError as error:
            raise error if isinstance(error, WebRefusal) else bad_request(str(error)) from error
        return json_page(self.clock.part())


def _format(request: Request) -> str:
    chosen = request.value("format", FORMATS[0])
    if chosen not in FORMATS:
        raise bad_request(f"format: Invalid value: {chosen[:40]!r}: use {' or '.join(FORMATS)}")
    return chosen


def _plain(text: str) -> str:
    """Return the text for a quoted string in a header: printable ASCII."""
    return "".join(letter if " " <= letter <= "~" and letter not in '"\\' else "?" for letter in text)
