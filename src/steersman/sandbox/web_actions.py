# SPDX-License-Identifier: Apache-2.0
"""Actions on the page of a sandbox: objects, import, export and reset of the cluster, and its clock.

`kube/…` is the Kubernetes API of the sandbox itself; the rest is made of the same store.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import quote

import msgspec

from steersman.apiserver.catalog import Catalog
from steersman.apiserver.requests import ApiRequest, WatchAnswer
from steersman.apiserver.reviews import TokenUser
from steersman.apiserver.service import ApiService
from steersman.apiserver.statuses import RequestRefused
from steersman.embedded import Store
from steersman.errors import InputError, SteersmanError
from steersman.host import ScaledClock, SchedulingLoop
from steersman.sandbox.applied_configuration import AppliedConfiguration
from steersman.sandbox.clock_page import ClockPage, speed_text
from steersman.sandbox.cluster_files import SNAPSHOT_CONFIGURATION, ClusterFiles, ImportResult
from steersman.sandbox.object_templates import template_list
from steersman.sandbox.scheduling import ReplaceableScheduler
from steersman.serving.http import Answer, Request
from steersman.web import PREFIX, ClockPart, WebRefusal, bad_request, json_page
from steersman.web.answers import InputProblem, problem_of
from steersman.web.configuration_handlers import EditedConfiguration
from steersman.web.configuration_page import problems_of
from steersman.web.host import Action
from steersman.web.refusals import decoded_body

MOST_DECISIONS: Final = 10_000
FORMATS: Final = ("manifests", "simulator")
_ADMIN: Final = TokenUser("kubernetes-admin", ("system:masters", "system:authenticated"))
_replace = msgspec.structs.replace
CAPABILITIES: Final = ("apply", "objects", "export", "clock", "decisionStep", "history")


class SandboxClock:
    """The clock of a sandbox together with its scheduler: while the page has paused it, nothing is decided either."""

    def __init__(self, clock: ScaledClock, schedulers: ReplaceableScheduler) -> None:
        self._clock = clock
        self._schedulers = schedulers
        self._page = ClockPage(clock)

    @property
    def _loop(self) -> SchedulingLoop:
        return self._schedulers.current.loop

    def part(self) -> ClockPart:
        clock = self._clock
        return ClockPart(clock.now(), clock.is_paused or self._loop.is_held, clock.is_stepping, speed_text(clock))

    def change(self, change: dict[str, object]) -> None:
        """Raises `WebRefusal`. While a step of time goes on pods are decided; a step of decisions lets no time pass."""
        decisions = change.pop("decisions", None)
        if decisions is not None and (not isinstance(decisions, int) or isinstance(decisions, bool)):
            raise bad_request(f"decisions: Invalid value: {decisions!r}: use a number")
        if decisions is not None and not 1 <= decisions <= MOST_DECISIONS:
            raise bad_request(f"decisions: Invalid value: {decisions}: use a number from 1 to {MOST_DECISIONS}")
        if change or decisions is None:
            try:
                self._page(change)
            except RequestRefused as refusal:
                raise bad_request(str(refusal)) from refusal
        self._drive(change, decisions)

    def _drive(self, change: dict[str, object], decisions: int | None) -> None:
        if decisions is not None:
            self._clock.pause()
            self._loop.hold(decisions)
        elif change.get("paused") is True:
            self._loop.hold()
        elif change.get("paused") is False or "step" in change:
            self._loop.release()


class SandboxActions:
    """Handlers of a sandbox. `durable` returns when what was written would survive a crash."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        service: ApiService,
        clock: SandboxClock,
        configuration: AppliedConfiguration,
        durable: Callable[[], Awaitable[None]],
    ) -> None:
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
            "GET export": self._export,
            "POST import": self._import,
            "POST reset": self._reset,
            "GET clock": self._show_clock,
            "POST clock": self._change_clock,
            "POST configuration/apply": self._apply,
        }

    async def _kube(self, request: Request) -> Answer:
        """The answer of the API server to the path behind `kube`."""
        path = quote(request.path.removeprefix(f"{PREFIX}kube"), safe="/:@")
        headers = {name.lower(): value for name, value in request.headers.items()}
        if request.has("watch") or "/watch/" in path:
            raise bad_request("watch: there are no watches here: use stream")
        asked = ApiRequest(request.method, path, dict(request.query), headers, request.body or b"", _ADMIN)
        answer = self._service.answer(asked)
        assert not isinstance(answer, WatchAnswer), "watches have been refused"
        await self._durable()
        body = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
        more = {"Warning": ", ".join(f'299 - "{_plain(text)}"' for text in answer.warnings)} if answer.warnings else {}
        return Answer(answer.code, body, answer.content_type, {**answer.headers, **more})

    async def _templates(self, request: Request) -> Answer:
        return json_page(template_list(self._catalog))

    async def _export(self, request: Request) -> Answer:
        chosen = _format(request)
        body, name = await self._files.exported(chosen, self.configuration.document())
        kind = "application/yaml" if chosen == "manifests" else "application/json"
        return Answer(200, body, kind, {"Content-Disposition": f'attachment; filename="{name}"'})

    async def _import(self, request: Request) -> Answer:
        """The cluster is emptied before, with `replace=true`. A configuration in the file is applied, if it can be."""
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
        """Why the configuration of a file cannot be applied; nothing where it was."""
        try:
            await self.configuration.apply(text)
        except InputError as error:
            return [_replace(problem_of(error), object=SNAPSHOT_CONFIGURATION, line=None)]
        return []

    async def _apply(self, request: Request) -> Answer:
        """Another scheduler with the edited configuration; streams end, and begin with a new epoch."""
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
    """The text as part of a quoted string in a header: printable ASCII."""
    return "".join(letter if " " <= letter <= "~" and letter not in '"\\' else "?" for letter in text)
