# SPDX-License-Identifier: Apache-2.0
"""Configuration documents: text in, configuration out, and back.

`load` runs the stages in order: decoding, `defaults`, `validation`. `effective_configuration` then
determines the plugins that run.

Decoding is strict. It reads YAML or JSON (`document_tree`), checks apiVersion and kind, and decodes
by the tables of `schema`. The result has only the values of the document. All strict problems
(unknown and duplicate fields) are reported if there are no others.

Printing is the reverse, in kube-scheduler's form of a v1 document: all fields are written, so that
loading the result gives an equal configuration. Output (`/configz`, `--write-config-to`, `steersman
config show`) has no secrets: no extenders' keys and certificates, and no passwords in URLs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import msgspec
import yaml

from steersman.api import quote
from steersman.base import HIDDEN_DATA, HIDDEN_PASSWORD, has_printable_lines, hide_passwords
from steersman.config.configuration import (
    API_GROUP,
    API_VERSION,
    CONFIGURATION_KIND,
    Args,
    SchedulerConfiguration,
)
from steersman.config.defaults import DecodedDocument, with_defaults
from steersman.config.document_tree import (
    JsonObject,
    JsonValue,
    MalformedError,
    PlainValue,
    UnsupportedValueError,
    looks_like_json,
    parse_json,
    parse_yaml,
    plain,
)
from steersman.config.errors import (
    ConfigError,
    ConfigProblem,
    ConfigStage,
    DecodeAbort,
    DecodeKind,
    DecodeLog,
    DocumentPlace,
    StrictProblem,
    described,
)
from steersman.config.feature_gates import DEFAULT_GATES, FeatureGates
from steersman.config.field_kinds import ObjectOf
from steersman.config.plugins.in_tree import ARGS_TYPES
from steersman.config.schema import CONFIGURATION, PLUGIN_ARGS, configuration_of
from steersman.config.validation import validate
from steersman.config.versions import DEFAULT_VERSION, KubernetesVersion
from steersman.config.yaml_scalars import resolve

# -- reading -----------------------------------------------------------------------------------------------------------


_UNNAMED = "configuration"


def load(text: str, source: str = _UNNAMED, gates: FeatureGates = DEFAULT_GATES) -> SchedulerConfiguration:
    """Load a valid configuration from YAML or JSON. `ConfigError`s have `source` as file name."""
    config = load_unvalidated(text, source, gates)
    validate(config, gates, file=source)
    return config


def load_unvalidated(text: str, source: str = _UNNAMED, gates: FeatureGates = DEFAULT_GATES) -> SchedulerConfiguration:
    """Read a document and apply defaults without validation, for example to show the defaults of an
    invalid document."""
    return with_defaults(decode(text, source, gates.version), gates)


def default_configuration(gates: FeatureGates = DEFAULT_GATES) -> SchedulerConfiguration:
    """Return the configuration of a scheduler that is started without a file."""
    return with_defaults(DecodedDocument({}), gates)


# -- decoding ----------------------------------------------------------------------------------------------------------

_VERSION: Final = "v1"
_INTERNAL_VERSION: Final = "__internal"
_KINDS: Final[Mapping[str, ObjectOf]] = {
    CONFIGURATION_KIND: CONFIGURATION,
    **{args.__name__: args.table() for args in ARGS_TYPES.values()},
}


class DocumentHeader(msgspec.Struct, frozen=True):
    """Group, version and kind of an object; "" if missing."""

    group: str
    version: str
    kind: str

    def with_defaults(self, default: DocumentHeader) -> DocumentHeader:
        group, version = self.group, self.version
        if not version and group in ("", default.group):
            group, version = default.group, default.version
        return DocumentHeader(group, version, self.kind or default.kind)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


def decode(text: str, file: str | None = None, version: KubernetesVersion = DEFAULT_VERSION) -> DecodedDocument:
    """Decode a document as this version of kube-scheduler does. Raises `ConfigError`."""
    with decode_errors(file):
        return _decode(text, version)


@contextmanager
def decode_errors(file: str | None) -> Iterator[None]:
    """Convert decoding errors to a `ConfigError` about `file`."""
    try:
        yield
    except RecursionError:
        raise _error(DecodeKind.MALFORMED, "the document is nested too deeply", file) from None
    except MalformedError as error:
        raise _error(DecodeKind.MALFORMED, str(error), file) from None
    except UnsupportedValueError as error:
        raise _error(DecodeKind.VALUE, str(error), file) from None
    except DecodeAbort as abort:
        raise _error(abort.kind, abort.text, file, abort.field) from None
    except StrictErrors as strict:
        problems = [ConfigProblem(problem.text, hint=problem.hint) for problem in strict.problems]
        raise ConfigError(ConfigStage.DECODE, problems, kind=DecodeKind.STRICT, file=file) from None


def _error(kind: DecodeKind, text: str, file: str | None, field: str = "") -> ConfigError:
    return ConfigError(ConfigStage.DECODE, [ConfigProblem(text, field=field)], kind=kind, file=file)


class StrictErrors(Exception):
    """Unknown and duplicate fields without other errors. Internal to the decoder, never shown."""

    def __init__(self, problems: list[StrictProblem]) -> None:
        super().__init__(*problems)
        self.problems = problems


def _decode(text: str, version: KubernetesVersion) -> DecodedDocument:
    tree, strict = read_tree(text)
    header = _registered(_required(header_of(tree)))
    values, strict_fields = decode_object(_table(header, version), tree)
    strict = [*strict, *strict_fields]
    if header.kind == CONFIGURATION_KIND and isinstance(values, dict):
        strict = [*strict, *_decode_all_args(values)]
    if strict:
        raise StrictErrors(strict)
    if not isinstance(values, dict):
        raise DecodeAbort(
            DecodeKind.WRONG_KIND,
            f"couldn't decode as {CONFIGURATION_KIND}, got {header.api_version}, Kind={header.kind}",
            "kind",
        )
    return DecodedDocument(values, internal=header.version == _INTERNAL_VERSION)


def read_tree(text: str) -> tuple[JsonValue, list[StrictProblem]]:
    """Return the document as a tree, and the strict problem of the YAML text."""
    if looks_like_json(text):
        return parse_json(text), []
    document = parse_yaml(text)
    return document.tree, [StrictProblem(document.duplicates)] if document.duplicates else []


def header_of(tree: JsonValue) -> DocumentHeader:
    """Return apiVersion and kind. Unlike all other fields, these are case-insensitive."""
    found = {"apiversion": "", "kind": ""}
    for key, value in _pairs(tree):
        name = key.casefold()
        if name in found and value is not None:
            if not isinstance(value, str):
                raise DecodeAbort(DecodeKind.MALFORMED, f"{key}: must be a string, not {described(value)}", key)
            found[name] = value
    group, version = _group_version(found["apiversion"])
    return DocumentHeader(group, version, found["kind"])


def _pairs(tree: JsonValue) -> tuple[tuple[str, JsonValue], ...]:
    if tree is None:
        return ()
    if not isinstance(tree, JsonObject):
        raise DecodeAbort(DecodeKind.MALFORMED, f"must be a mapping with apiVersion and kind, not {described(tree)}")
    return tree.pairs


def _group_version(text: str) -> tuple[str, str]:
    group, slash, version = text.partition("/")
    if "/" in version:
        raise DecodeAbort(DecodeKind.MALFORMED, f"unexpected GroupVersion string: {text}", "apiVersion")
    return (group, version) if slash else ("", text)


def _required(header: DocumentHeader) -> DocumentHeader:
    if not header.kind:
        raise DecodeAbort(
            DecodeKind.MISSING_KIND, f"Object 'Kind' is missing; write kind: {CONFIGURATION_KIND}", "kind"
        )
    if not header.version:
        text = f"Object 'apiVersion' is missing; write apiVersion: {API_VERSION}"
        raise DecodeAbort(DecodeKind.MISSING_VERSION, text, "apiVersion")
    return header


def _registered(header: DocumentHeader) -> DocumentHeader:
    if header.group == API_GROUP and header.version in (_VERSION, _INTERNAL_VERSION) and header.kind in _KINDS:
        return header
    text = f"no kind {quote(header.kind)} is registered for version {quote(header.api_version)}"
    hint = "convert a Policy first" if header.kind == "Policy" else f"supported is {API_VERSION}"
    raise DecodeAbort(DecodeKind.NOT_REGISTERED, f"{text}; {hint}", "kind")


def _table(header: DocumentHeader, version: KubernetesVersion = DEFAULT_VERSION) -> ObjectOf:
    """Return the table of a kind. The internal version has no field names: all are unknown."""
    table = configuration_of(version) if header.kind == CONFIGURATION_KIND else _KINDS[header.kind]
    return table if header.version == _VERSION else ObjectOf(table.make, {}, table.header)


def decode_object(table: ObjectOf, tree: JsonValue) -> tuple[object, list[StrictProblem]]:
    """Return the object decoded from a tree, and the strict problems."""
    log = DecodeLog()
    decoded = table.decode(tree, DocumentPlace(), log) if tree is not None else table.zero()
    log.raise_first()
    return decoded, log.strict


def _decode_all_args(values: dict[str, Any]) -> Iterator[StrictProblem]:
    """Replace raw arguments in the profiles by decoded ones; yield their strict problems."""
    for i, profile in enumerate(values.get("profiles", ())):
        for j, entry in enumerate(profile.get("plugin_config", ())):
            try:
                entry["args"] = _decode_args(entry.get("name", ""), entry.get("args"))
            except StrictErrors as strict:
                yield _args_problem(f"decoding .profiles[{i}].pluginConfig[{j}]", entry["name"], strict)
            except DecodeAbort as abort:
                raise _in_args(abort, f"profiles[{i}].pluginConfig[{j}]", entry["name"]) from None


def _in_args(abort: DecodeAbort, where: str, plugin: str) -> DecodeAbort:
    """Return the problem of one argument object, in upstream's nested words."""
    names_plugin = abort.kind is DecodeKind.WRONG_KIND
    text = abort.text if names_plugin else f"decoding args for plugin {plugin}: {abort.text}"
    field = f"{where}.args.{abort.field}" if abort.field else f"{where}.args"
    return DecodeAbort(abort.kind, f"decoding .{where}: {text}", field)


def _args_problem(where: str, plugin: str, strict: StrictErrors) -> StrictProblem:
    """Combine all strict problems of one argument object, in upstream's nested words."""
    texts = ", ".join(problem.text for problem in strict.problems)
    nested = f"strict decoding error: decoding args for plugin {plugin}: strict decoding error: {texts}"
    hints = [problem.hint for problem in strict.problems if problem.hint]
    return StrictProblem(f"{where}: {nested}", " ".join(hints))


def _decode_args(plugin: str, tree: JsonValue) -> object:
    """Return typed arguments if the plugin has a type for them, or else the plain value."""
    if plugin not in ARGS_TYPES:
        return plain(tree)
    wanted = DocumentHeader(API_GROUP, _VERSION, ARGS_TYPES[plugin].__name__)
    header = _registered(header_of(tree).with_defaults(wanted))
    decoded, strict = decode_object(_table(header), tree)
    if header.kind != wanted.kind:
        text = f"args for plugin {plugin} were not of type {wanted.kind}.{API_GROUP}, got {header.kind}.{header.group}"
        raise DecodeAbort(DecodeKind.WRONG_KIND, text, "kind")
    if strict:
        raise StrictErrors(strict)
    return decoded


# -- printing ----------------------------------------------------------------------------------------------------------


SECRET_FIELDS: Final = frozenset({"keyData", "certData"})
"""Fields of an extender's tlsConfig. A certificate is public, but its file may have the key."""
SECRETS_ARE_HIDDEN: Final = (
    f"# Secrets are hidden: put them in place of {HIDDEN_DATA} and {HIDDEN_PASSWORD} before this file is loaded."
)


def to_document(config: SchedulerConfiguration) -> dict[str, PlainValue]:
    """Return the configuration as a v1 document; plugin sets are merged, not expanded."""
    document = CONFIGURATION.encode(config)
    assert isinstance(document, dict)
    return document


def public_document(config: SchedulerConfiguration) -> dict[str, PlainValue]:
    """Return the document without secrets."""
    document = without_secrets(to_document(config))
    assert isinstance(document, dict)
    return document


def without_secrets(value: PlainValue) -> PlainValue:
    """Return a document, or a part of one, with placeholders for its secrets."""
    if isinstance(value, dict):
        return {key: HIDDEN_DATA if key in SECRET_FIELDS else without_secrets(part) for key, part in value.items()}
    if isinstance(value, list):
        return [without_secrets(part) for part in value]
    return hide_passwords(value) if isinstance(value, str) else value


def args_document(args: Args) -> PlainValue:
    """Return plugin arguments for printing; typed ones get apiVersion and kind."""
    return None if args is None else PLUGIN_ARGS.encode(args)


def dump_yaml(config: SchedulerConfiguration) -> str:
    """Return the document as YAML with all secrets, keys sorted as by kube-scheduler."""
    return _yaml(to_document(config))


def dump_public_yaml(config: SchedulerConfiguration) -> str:
    """Return the document as YAML without secrets. A first line warns if any were replaced."""
    document = public_document(config)
    text = _yaml(document)
    return text if document == to_document(config) else f"{SECRETS_ARE_HIDDEN}\n{text}"


def _yaml(document: PlainValue) -> str:
    """Return the text with non-ASCII characters, unless some of them are invisible."""
    text = _dumped(document, as_it_is=True)
    return text if has_printable_lines(text) else _dumped(document, as_it_is=False)


def _dumped(document: PlainValue, *, as_it_is: bool) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=True, allow_unicode=as_it_is, width=120)


class _Dumper(yaml.SafeDumper):
    """Quotes every string that Kubernetes' YAML reader would not read as a string."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _string(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    is_plain = isinstance(resolve(None, True, text), str)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if is_plain else '"')


_Dumper.add_representer(str, _string)
