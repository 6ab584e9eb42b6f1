# SPDX-License-Identifier: Apache-2.0
"""Objects as the API server wrote them, for extenders: the Structs hold only what the scheduler itself reads.

`list_watch` hands over what it decodes, `extenders` sends it on. Kept is no more than the configured extenders are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from steersman import api, config
from steersman.api import codec


class RawObjects:
    """Texts of the API server by kind and uid: without managed fields, which are most of the text, and without the kind."""

    def __init__(self, extenders: Sequence[config.Extender] = ()) -> None:
        shown_pods = [e for e in extenders if e.filter_verb or e.prioritize_verb or e.preempt_verb]
        shown_nodes = [e for e in extenders if (e.filter_verb or e.prioritize_verb) and not e.node_cache_capable]
        self._texts: dict[type[api.Object], dict[str, msgspec.Raw]] = {}
        if shown_pods:
            self._texts[api.Pod] = {}
        if shown_nodes:
            self._texts[api.Node] = {}
        #: Victims of preemption are shown whole to extenders that know no nodes.
        self._keeps_bound_pods = any(e.preempt_verb and not e.node_cache_capable for e in shown_pods)

    def keeps(self, kind: type[api.Object]) -> bool:
        return kind in self._texts

    def remember(self, obj: api.Object, text: bytes | msgspec.Raw) -> None:
        if isinstance(obj, api.Pod) and obj.spec.node_name and not self._keeps_bound_pods:
            self.forget(obj)
        else:
            self._texts[type(obj)][obj.metadata.uid] = _trimmed(text)

    def forget(self, obj: api.Object) -> None:
        self._texts[type(obj)].pop(obj.metadata.uid, None)

    def forget_all(self, kind: type[api.Object]) -> None:
        self._texts[kind].clear()

    def shown(self, obj: api.Object) -> msgspec.Raw:
        """The object as the API server wrote it, or as much of it as is known."""
        text = self._texts.get(type(obj), {}).get(obj.metadata.uid)
        return msgspec.Raw(codec.encode(obj)) if text is None else text


def _trimmed(text: bytes | msgspec.Raw) -> msgspec.Raw:
    document: dict[str, Any] = codec.plain(text)
    for field in ("apiVersion", "kind"):
        document.pop(field, None)
    (document.get("metadata") or {}).pop("managedFields", None)
    return msgspec.Raw(msgspec.json.encode(document))
