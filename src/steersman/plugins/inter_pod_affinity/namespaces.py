# SPDX-License-Identifier: Apache-2.0
"""Which namespaces the affinity terms of a pod reach.

A term of the pod that is being scheduled is resolved once per cycle: the names of all namespaces that its selector
finds are added to those it lists. The selector itself stays and is then asked about a namespace without labels, as
upstream does. So an empty selector reaches every namespace, even one whose object is not known yet, and so does a
selector that only rules labels out (NotIn, DoesNotExist).

A term of a pod that runs already is asked about the labels of one namespace, that of the pod being scheduled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from steersman.api import Namespace
from steersman.framework.handle import Objects
from steersman.framework.pod_info import AffinityTerm

NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})
"""What the terms of the pod being scheduled are asked with: their namespaces are resolved already."""


def with_selected_namespaces(terms: Iterable[AffinityTerm], objects: Objects) -> tuple[AffinityTerm, ...]:
    """The terms of the pod being scheduled, each with the names of the namespaces that its selector finds."""
    return tuple(msgspec.structs.replace(t, namespaces=t.namespaces | _selected(t, objects)) for t in terms)


def labels_of_namespace(name: str, objects: Objects) -> Mapping[str, str]:
    """A namespace whose object is not known (yet) counts as one without labels."""
    namespace = objects.get(Namespace, name)
    return NO_LABELS if namespace is None else namespace.metadata.labels


def _selected(term: AffinityTerm, objects: Objects) -> frozenset[str]:
    metadata = (namespace.metadata for namespace in objects.list(Namespace))
    return frozenset(m.name for m in metadata if term.namespace_selector.matches(m.labels))
