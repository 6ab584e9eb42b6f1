# SPDX-License-Identifier: Apache-2.0
"""Small building blocks that every package uses, independent of Kubernetes and scheduling.

Time and randomness: `clock`, `rng`, `timing`. Errors and text: `errors`, `internal_errors`,
`printable_text`, `redaction`, `text_tables`, `document_versions`, `report` (report model, HTML,
notebooks). Containers and caches: `bounded_cache`, `cache_spec`, `change_log`, `grouped_dict`,
`layered_dict`, `memo`, `graph_copy` (copies of object graphs for forks). Packaging: `build_info`,
`lazy_exports`, `moved_packages` (old import paths). `waiting` waits for work or an event.

Imports nothing of Steersman outside this package.
"""

from typing import TYPE_CHECKING

from steersman.base.lazy_names import lazy_exports as lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.base.bounded_cache import LruCache as LruCache, WeakValueCache as WeakValueCache
    from steersman.base.build_info import (
        KUBE_SCHEDULER_VERSION as KUBE_SCHEDULER_VERSION,
        steersman_version as steersman_version,
    )
    from steersman.base.cache_spec import CacheSpec as CacheSpec, ReferenceChecks as ReferenceChecks
    from steersman.base.change_log import ChangeLog as ChangeLog
    from steersman.base.clock import Clock as Clock, ManualClock as ManualClock, RealClock as RealClock
    from steersman.base.document_versions import (
        EXPLAIN_VERSION as EXPLAIN_VERSION,
        HISTORY_VERSION as HISTORY_VERSION,
        JOURNAL_VERSION as JOURNAL_VERSION,
        PLAN_VERSION as PLAN_VERSION,
        POLICY_VERSION as POLICY_VERSION,
        POOLS_VERSION as POOLS_VERSION,
        REPLAY_VERSION as REPLAY_VERSION,
        SCENARIO_VERSION as SCENARIO_VERSION,
        SHADOW_VERSION as SHADOW_VERSION,
        SWEEP_VERSION as SWEEP_VERSION,
        version_schema as version_schema,
    )
    from steersman.base.errors import (
        InputError as InputError,
        InputErrors as InputErrors,
        SteersmanError as SteersmanError,
        most_telling as most_telling,
    )
    from steersman.base.grouped_dict import GroupedDict as GroupedDict
    from steersman.base.internal_errors import (
        INTERNAL_ERROR as INTERNAL_ERROR,
        InternalErrors as InternalErrors,
        describe as describe,
    )
    from steersman.base.layered_dict import LayeredDict as LayeredDict
    from steersman.base.memo import Memo as Memo, SharedMemo as SharedMemo
    from steersman.base.moved_packages import install as install
    from steersman.base.printable_text import (
        has_printable_lines as has_printable_lines,
        printable as printable,
        printable_json as printable_json,
        printable_lines as printable_lines,
    )
    from steersman.base.redaction import (
        HIDDEN_DATA as HIDDEN_DATA,
        HIDDEN_PASSWORD as HIDDEN_PASSWORD,
        hide_passwords as hide_passwords,
    )
    from steersman.base.rng import FirstByName as FirstByName, Rng as Rng, SeededRng as SeededRng
    from steersman.base.text_tables import (
        aligned as aligned,
        counted as counted,
        duration_text as duration_text,
        hanging as hanging,
        wrapped as wrapped,
    )
    from steersman.base.timing import Timing as Timing
    from steersman.base.waiting import ended_before as ended_before
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "bounded_cache": "LruCache WeakValueCache",
            "build_info": "KUBE_SCHEDULER_VERSION steersman_version",
            "cache_spec": "CacheSpec ReferenceChecks",
            "change_log": "ChangeLog",
            "clock": "Clock ManualClock RealClock",
            "document_versions": (
                "EXPLAIN_VERSION HISTORY_VERSION JOURNAL_VERSION PLAN_VERSION "
                "POLICY_VERSION POOLS_VERSION REPLAY_VERSION SCENARIO_VERSION SHADOW_VERSION "
                "SWEEP_VERSION version_schema"
            ),
            "errors": "InputError InputErrors SteersmanError most_telling",
            "grouped_dict": "GroupedDict",
            "internal_errors": "INTERNAL_ERROR InternalErrors describe",
            "layered_dict": "LayeredDict",
            "lazy_names": "lazy_exports",
            "memo": "Memo SharedMemo",
            "moved_packages": "install",
            "printable_text": "has_printable_lines printable printable_json printable_lines",
            "redaction": "HIDDEN_DATA HIDDEN_PASSWORD hide_passwords",
            "rng": "FirstByName Rng SeededRng",
            "text_tables": "aligned counted duration_text hanging wrapped",
            "timing": "Timing",
            "waiting": "ended_before",
        },
    )
