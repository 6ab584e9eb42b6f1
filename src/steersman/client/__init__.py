# SPDX-License-Identifier: Apache-2.0
"""The only package that speaks HTTP outward: to API servers and to extenders.

connect(ClusterChoice(kubeconfig=…), os.environ) ─► Connection ─► http_transport ─► RateLimited
Informers(transport, scheduler.ingest, timing).run()       what the cluster has, kept up to date
Dispatcher(transport, events, timing).run()                what the scheduler writes (`assembly.ApiWriter`)
ApiServerReader(transport, timing)                         what plugins read by themselves (`framework.ApiReader`)
LeaderElection(HttpLease(…), settings, timing).run(lead)   one leader at a time
http_extenders(configuration, RawObjects(…))               the scheduler knows them as `framework.extender.Extender`
"""

from steersman.client.api_reader import ApiServerReader
from steersman.client.connection import Connection
from steersman.client.direct_posts import DirectPosts
from steersman.client.dispatcher import Dispatcher
from steersman.client.errors import ApiError, ClientError, ConnectionFailed, UnreadableAnswer
from steersman.client.events import EventRecorder
from steersman.client.extenders import HttpExtender, http_extenders
from steersman.client.failure_log import FailureLog, Trouble, trouble_with
from steersman.client.fence import FencedTransport, LeaseNotHeld, WriteFence
from steersman.client.foreign_input import decode_foreign
from steersman.client.kubeconfig import ChosenCluster, ClusterChoice, connect
from steersman.client.lease import ElectionSettings, HttpLease, LeaderElection, LeaseLost
from steersman.client.list_watch import ListWatch, ObjectTexts, RawObjects
from steersman.client.pacing import RateLimited, RetryPolicy, Timing, TokenBucket
from steersman.client.read_pacing import ReadPacing
from steersman.client.reflector import Informers, Reflector, may_be_absent
from steersman.client.rights import Right, cluster_rights, lease_rights
from steersman.client.set_aside import SetAside, SetAsideObject
from steersman.client.transport import HttpTransport, Response, Transport, http_transport

__all__ = [
    "ApiError",
    "ApiServerReader",
    "ChosenCluster",
    "ClientError",
    "ClusterChoice",
    "Connection",
    "ConnectionFailed",
    "DirectPosts",
    "Dispatcher",
    "ElectionSettings",
    "EventRecorder",
    "FailureLog",
    "FencedTransport",
    "HttpExtender",
    "HttpLease",
    "HttpTransport",
    "Informers",
    "LeaderElection",
    "LeaseLost",
    "LeaseNotHeld",
    "ListWatch",
    "ObjectTexts",
    "RateLimited",
    "RawObjects",
    "ReadPacing",
    "Reflector",
    "Response",
    "RetryPolicy",
    "Right",
    "SetAside",
    "SetAsideObject",
    "Timing",
    "TokenBucket",
    "Transport",
    "Trouble",
    "UnreadableAnswer",
    "WriteFence",
    "cluster_rights",
    "connect",
    "decode_foreign",
    "http_extenders",
    "http_transport",
    "lease_rights",
    "may_be_absent",
    "trouble_with",
]
