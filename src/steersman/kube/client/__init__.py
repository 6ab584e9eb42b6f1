# SPDX-License-Identifier: Apache-2.0
"""Client of an API server and of extenders; `requests` has the path of a request to the socket.

connect(ClusterChoice(kubeconfig=…), os.environ) ─► Connection ─► http_transport ─► RequestChain
Informers(transport, scheduler.ingest, timing).run()       local copy of the cluster
Dispatcher(transport, events, timing).run()                writes (`assembly.ApiWriter`)
ApiServerReader(transport, timing)                         reads of plugins (`framework.ApiReader`)
LeaderElection(HttpLease(…), settings, timing).run(lead)   one leader at a time
http_extenders(configuration, RawObjects(…))               `framework.extender.Extender`s
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.kube.client.api_reader import ApiResourceList as ApiResourceList, ApiServerReader as ApiServerReader
    from steersman.kube.client.connection import Connection as Connection
    from steersman.kube.client.dispatcher import Dispatcher as Dispatcher
    from steersman.kube.client.errors import (
        ApiError as ApiError,
        ClientError as ClientError,
        ConnectionFailed as ConnectionFailed,
        UnreadableAnswer as UnreadableAnswer,
    )
    from steersman.kube.client.events import (
        Event as Event,
        EventRecorder as EventRecorder,
        EventSeriesBook as EventSeriesBook,
    )
    from steersman.kube.client.extenders import HttpExtender as HttpExtender, http_extenders as http_extenders
    from steersman.kube.client.failure_log import (
        BINDING as BINDING,
        SEE_DOCTOR as SEE_DOCTOR,
        FailureLog as FailureLog,
        Trouble as Trouble,
        trouble_with as trouble_with,
    )
    from steersman.kube.client.fence import (
        LeaseNotHeld as LeaseNotHeld,
        WriteFence as WriteFence,
    )
    from steersman.kube.client.foreign_input import decode_foreign as decode_foreign
    from steersman.kube.client.invalid_objects import InvalidObject as InvalidObject, InvalidObjects as InvalidObjects
    from steersman.kube.client.kubeconfig import (
        ChosenCluster as ChosenCluster,
        ClusterChoice as ClusterChoice,
        connect as connect,
    )
    from steersman.kube.client.lease import (
        LEASE_LABELS as LEASE_LABELS,
        ElectionSettings as ElectionSettings,
        HttpLease as HttpLease,
        LeaderElection as LeaderElection,
        Lease as Lease,
        LeaseLost as LeaseLost,
    )
    from steersman.kube.client.list_watch import (
        ListPage as ListPage,
        ListWatch as ListWatch,
        ObjectTexts as ObjectTexts,
        RawObjects as RawObjects,
    )
    from steersman.kube.client.pacing import (
        RetryPolicy as RetryPolicy,
        TokenBucket as TokenBucket,
    )
    from steersman.kube.client.reflector import (
        UNFINISHED as UNFINISHED,
        Informers as Informers,
        Reflector as Reflector,
        may_be_absent as may_be_absent,
    )
    from steersman.kube.client.requests import (
        MERGE_PATCH as MERGE_PATCH,
        NowaitChain as NowaitChain,
        Request as Request,
        RequestChain as RequestChain,
        RequestMetrics as RequestMetrics,
        Response as Response,
        Transport as Transport,
    )
    from steersman.kube.client.rights import (
        ELECTION as ELECTION,
        LOOKUP as LOOKUP,
        PLUGIN_READS as PLUGIN_READS,
        Right as Right,
        cluster_rights as cluster_rights,
        lease_rights as lease_rights,
        plugin_rights as plugin_rights,
    )
    from steersman.kube.client.transport import HttpTransport as HttpTransport, http_transport as http_transport
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "api_reader": "ApiResourceList ApiServerReader",
            "connection": "Connection",
            "dispatcher": "Dispatcher",
            "errors": "ApiError ClientError ConnectionFailed UnreadableAnswer",
            "events": "Event EventRecorder EventSeriesBook",
            "extenders": "HttpExtender http_extenders",
            "failure_log": "BINDING FailureLog SEE_DOCTOR Trouble trouble_with",
            "fence": "LeaseNotHeld WriteFence",
            "foreign_input": "decode_foreign",
            "kubeconfig": "ChosenCluster ClusterChoice connect",
            "lease": "ElectionSettings HttpLease LEASE_LABELS LeaderElection Lease LeaseLost",
            "list_watch": "ListPage ListWatch ObjectTexts RawObjects",
            "pacing": "RetryPolicy TokenBucket",
            "reflector": "Informers Reflector UNFINISHED may_be_absent",
            "requests": "MERGE_PATCH NowaitChain Request RequestChain RequestMetrics Response Transport",
            "rights": ("ELECTION LOOKUP PLUGIN_READS Right cluster_rights lease_rights plugin_rights"),
            "invalid_objects": "InvalidObjects InvalidObject",
            "transport": "HttpTransport http_transport",
        },
    )
