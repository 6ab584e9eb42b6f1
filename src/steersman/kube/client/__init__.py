# SPDX-License-Identifier: Apache-2.0
"""Client of an API server and of extenders; `requests` has the path of a request to the socket.

connect(ClusterChoice(kubeconfig=…), os.environ) ─► Connection ─► http_transport ─► RequestChain
Informers(transport, scheduler.ingest, timing).run()       local copy of the cluster
Dispatcher(transport, events, timing).run()                writes (`assembly.ApiWriter`)
ApiServerReader(transport, timing)                         reads of plugins (`framework.ApiReader`)
LeaderElection(HttpLease(…), settings, timing).run(lead)   one leader at a time
http_extenders(configuration, RawObjects(…))               `framework.extender.Extender`s
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "api_reader": "ApiServerReader",
        "connection": "Connection",
        "dispatcher": "Dispatcher",
        "errors": "ApiError ClientError ConnectionFailed UnreadableAnswer",
        "events": "Event EventRecorder EventSeriesBook event_object",
        "extenders": "HttpExtender http_extenders",
        "failure_log": "BINDING FailureLog SEE_DOCTOR ServerProblem server_problem",
        "fence": "LeaseNotHeld WriteFence",
        "coordinated_election": "Candidacy CoordinatedElection lease_candidate",
        "discovery": "ApiResourceList is_absent version_path",
        "foreign_input": "decode_foreign",
        "invalid_objects": "InvalidObject InvalidObjects",
        "kubeconfig": "ChosenCluster ClusterChoice connect",
        "lease": "ElectionSettings HttpLease LEASE_LABELS LeaderElection Lease LeaseLost",
        "list_watch": "ListPage ListWatch ObjectTexts RawObjects",
        "pacing": "RetryPolicy TokenBucket",
        "reflector": "Informers Reflector UNFINISHED may_be_absent",
        "requests": "MERGE_PATCH NowaitChain Request RequestChain RequestMetrics Response Transport",
        "rights": "ELECTION LOOKUP PLUGIN_READS Right cluster_rights lease_rights plugin_rights",
        "transport": "HttpTransport http_transport",
    },
)
