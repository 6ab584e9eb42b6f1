# SPDX-License-Identifier: Apache-2.0
"""Write `web/src/api/types.ts`, the requests and answers of the web API, from the structs that encode them.

    python -m scripts.web_types

A test fails when the file is out of date. Types without a struct, and unions of the texts that a field can have, are in
`web/src/api/values.ts`; `VALUES` names the fields that have such a union. Fields are documented in `docs/web-api.md`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from steersman.kube.observe import DecisionRecord
from steersman.sandbox.cluster_files import ImportResult
from steersman.sandbox.object_creation import CreationResult
from steersman.sandbox.object_templates import TemplateList
from steersman.sandbox.pod_fixes import FixesPage
from steersman.sandbox.web.cluster_feed import ClusterDiff, ClusterSnapshot
from steersman.sandbox.web.configuration_handlers import ComparedConfigurations, EditedConfiguration, OtherRun
from steersman.sandbox.web.configuration_page import ConfigurationPage, ValidateResult
from steersman.sandbox.web.http_api import WebInfo
from steersman.sandbox.web.matrix import PodMatrix
from steersman.sandbox.web.node_page import NodePage
from steersman.sandbox.web.past import HistoryPage
from steersman.sandbox.web.pending import PendingReport
from steersman.sandbox.web.pod_page import PodPage
from steersman.sandbox.web.pod_places import PodTable, SearchResult
from steersman.sandbox.web.room import RoomReport
from steersman.sandbox.web.trial import ConfigurationComparison

PAGE: Final = Path(__file__).parents[1] / "web" / "src" / "api" / "types.ts"
NAMES: Final[Mapping[str, str]] = {
    "WebInfo": "Info",
    "LaneCounts": "Lanes",
    "TaintPart": "Taint",
    "ClockPart": "ClockState",
    "InputProblem": "Problem",
    "ClusterTotals": "Totals",
    "LaneMove": "PodMove",
    "DecisionRecord": "AttemptRecord",
    "PodMatrix": "Matrix",
    "VerdictText": "Verdict",
    "PreemptionExplanation": "Preemption",
    "ValueInEffect": "EffectiveValue",
    "GateInEffect": "EffectiveGate",
    "PluginInEffect": "PluginConfiguration",
    "ProfileInEffect": "ProfileConfiguration",
    "EditedConfiguration": "TryRequest",
    "ComparedConfigurations": "CompareRequest",
    "OtherRun": "CompareRunRequest",
    "ConfigurationComparison": "Comparison",
    "HistoryPage": "History",
}
"""Names in TypeScript of structs that have another name in Python."""
VALUES: Final[Mapping[str, str]] = {
    "Info.host": "HostKind",
    "Info.capabilities": "Capability[]",
    "NodeColumns.unschedulable": "(0 | 1)[]",
    "NodeColumns.ready": "(0 | 1)[]",
    "NodeRow.unschedulable": "0 | 1",
    "NodeRow.ready": "0 | 1",
    "PodMove.from": 'Lane | ""',
    "PodMove.to": 'Lane | "bound" | "gone"',
    "PodTable.place": "PodPlace[]",
    "PodPage.place": "PodPlace",
    "FoundPod.place": "PodPlace",
    "TimelineEntry.kind": "TimelineKind",
    "AttemptRecord.outcome": "Outcome",
    "PendingGroup.lanes": "Partial<Lanes>",
    "PendingPod.lane": "Lane",
    "Matrix.source": '"now" | "recorded"',
    "Matrix.outcome": "Outcome",
    "Matrix.fits": "(0 | 1)[]",
    "RoomReport.fits": "(0 | 1)[]",
    "ConfigurationPage.source": '"default" | "file" | "applied"',
    "EffectiveValue.source": "ValueSource",
    "EffectiveGate.source": "ValueSource",
    "PluginConfiguration.weightSource": "ValueSource",
    "PluginConfiguration.argsSource": "ValueSource",
    "Cause.code": "CauseCode",
    "NodeGroup.code": "CauseCode",
}
"""Fields whose type in TypeScript is narrower than in Python."""
ROOTS: Final = (
    WebInfo,
    ClusterSnapshot,
    ClusterDiff,
    PodTable,
    SearchResult,
    PodPage,
    PendingReport,
    PodMatrix,
    RoomReport,
    NodePage,
    ConfigurationPage,
    ValidateResult,
    EditedConfiguration,
    ComparedConfigurations,
    OtherRun,
    ConfigurationComparison,
    TemplateList,
    CreationResult,
    ImportResult,
    FixesPage,
    HistoryPage,
    DecisionRecord,
)
"""Requests and answers; the structs of their fields follow from them."""
_PLAIN: Final[Mapping[object, str]] = {str: "string", int: "number", float: "number", bool: "boolean"}
_HEADER: Final = """\
// SPDX-License-Identifier: Apache-2.0
// Written by `python -m scripts.web_types` from the structs of the web API. Edit these instead.
//
// Times are seconds since the Unix epoch by the clock of the scheduler, which in a sandbox may run faster or stand still.
// Amounts are integers: cpu in millicores, everything else in its base unit (bytes, pieces).
// docs/web-api.md describes the fields.
"""

Struct = type[msgspec.Struct]


def web_types() -> str:
    """Return the text of `types.ts`."""
    interfaces = [_interface(struct) for struct in _with_parts(ROOTS)]
    body = "\n".join(interfaces)
    values = [name for name in _exported_values() if re.search(rf"\b{name}\b", body)]
    imports = f'import type {{ {", ".join(values)} }} from "./values";\nexport type * from "./values";\n'
    return f"{_HEADER}\n{imports}\n{body}"


def _exported_values() -> list[str]:
    text = PAGE.with_name("values.ts").read_text(encoding="utf-8")
    return sorted(re.findall(r"^export (?:type|interface) (\w+)", text, re.MULTILINE))


def _with_parts(structs: Iterable[Struct]) -> list[Struct]:
    """Return the structs and those of their fields, each once, a struct before its parts."""
    found: dict[Struct, None] = {}
    waiting = list(structs)
    while waiting:
        struct = waiting.pop(0)
        if struct not in found:
            found[struct] = None
            waiting[:0] = [part for field in _types(struct).values() for part in _structs(field)]
    return list(found)


def _types(struct: Struct) -> dict[str, Any]:
    return get_type_hints(struct, vars(inspect.getmodule(struct)) if inspect.getmodule(struct) else None)


def _structs(annotation: Any) -> Iterator[Struct]:
    if inspect.isclass(annotation) and issubclass(annotation, msgspec.Struct):
        yield annotation
    for part in get_args(annotation):
        yield from _structs(part)


def _interface(struct: Struct) -> str:
    name, hints = NAMES.get(struct.__name__, struct.__name__), _types(struct)
    lines = []
    for field in msgspec.structs.fields(struct):
        annotation = hints[field.name]
        is_optional = _is_optional(struct, field)
        written = VALUES.get(f"{name}.{field.encode_name}") or _text(
            annotation, without_none=_omits_none(struct, field)
        )
        lines.append(f"  {field.encode_name}{'?' if is_optional else ''}: {written};\n")
    return f"export interface {name} {{\n{''.join(lines)}}}\n"


def _is_optional(struct: Struct, field: msgspec.structs.FieldInfo) -> bool:
    """Return whether a field may be left out: at its default, or by the author of a request."""
    if msgspec.UNSET is field.default:
        return True
    has_default = field.default is not msgspec.NODEFAULT or field.default_factory is not msgspec.NODEFAULT
    is_request = struct.__module__.endswith("configuration_handlers")
    return has_default and (struct.__struct_config__.omit_defaults or is_request)


def _omits_none(struct: Struct, field: msgspec.structs.FieldInfo) -> bool:
    return field.default is None and struct.__struct_config__.omit_defaults


def _text(annotation: Any, *, without_none: bool = False) -> str:
    """Return a type in the notation of TypeScript."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        dropped = (msgspec.UnsetType, NoneType) if without_none else (msgspec.UnsetType,)
        return " | ".join("null" if part is NoneType else _text(part) for part in parts if part not in dropped)
    if origin in (list, tuple):
        item = _text(parts[0])
        return f"({item})[]" if " " in item else f"{item}[]"
    if origin is dict:
        return f"Record<{_text(parts[0])}, {_text(parts[1])}>"
    if origin is Literal:
        return " | ".join(f'"{value}"' for value in parts)
    if inspect.isclass(annotation) and issubclass(annotation, msgspec.Struct):
        return NAMES.get(annotation.__name__, annotation.__name__)
    if inspect.isclass(annotation) and issubclass(annotation, Enum):
        return " | ".join(f'"{member.value}"' for member in annotation)
    return _PLAIN[annotation]


def main() -> None:
    PAGE.write_text(web_types(), encoding="utf-8")


if __name__ == "__main__":
    main()
