# SPDX-License-Identifier: Apache-2.0
"""Small building blocks that every package uses, independent of Kubernetes and scheduling.

Time and randomness: `clock`, `rng`, `timing`. Errors and text: `errors`, `internal_errors`,
`printable_text`, `redaction`, `text_tables`, `document_versions`, `report` (report model, HTML,
notebooks). Containers and caches: `bounded_cache`, `cache_spec`, `change_log`, `grouped_dict`,
`layered_dict`, `memo`, `graph_copy` (copies of object graphs for forks). Packaging: `build_info`,
`lazy_exports`, `moved_packages` (old import paths). `waiting` waits for work or an event,
`wrapped_coroutine` observes the steps of a coroutine.

Imports nothing of Steersman outside this package.
"""

from steersman.base.lazy_names import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "bounded_cache": "LruCache WeakValueCache",
        "build_info": "DEFAULT_EMULATED_VERSION KUBE_SCHEDULER_RELEASES KUBE_SCHEDULER_VERSION steersman_version",
        "cache_spec": "CacheSpec ReferenceChecks",
        "change_log": "ChangeLog",
        "clock": "Clock ManualClock RealClock",
        "document_versions": (
            "EXPLAIN_VERSION HISTORY_VERSION JOURNAL_VERSION PLAN_VERSION POLICY_VERSION "
            "POOLS_VERSION REPLAY_VERSION SCENARIO_VERSION SHADOW_VERSION SWEEP_VERSION "
            "PlainStruct SCHEMA_DIALECT document_schema version_schema"
        ),
        "errors": "InputError InputErrors SteersmanError most_informative_error",
        "grouped_dict": "GroupedDict",
        "internal_errors": "INTERNAL_ERROR InternalErrors describe",
        "layered_dict": "LayeredDict",
        "lazy_names": "lazy_exports",
        "memo": "Memo SharedMemo",
        "moved_packages": "install",
        "printable_text": "has_printable_lines printable printable_json printable_lines",
        "redaction": "HIDDEN_DATA HIDDEN_PASSWORD hide_passwords",
        "rng": "FirstByName Rng SeededRng",
        "text_tables": "aligned counted duration_text wrap_hanging wrapped",
        "timing": "Timing",
        "waiting": "ended_before",
        "wrapped_coroutine": "WrappedCoroutine",
    },
)
