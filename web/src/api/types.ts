// SPDX-License-Identifier: Apache-2.0
// Every request and answer of /web/v1/, as documented in API.md.
//
// Times are seconds since the Unix epoch (numbers) by the clock of the scheduler, which in a sandbox may run faster or stand still.
// Amounts are integers: cpu in millicores, everything else in its base unit (bytes, pieces).
// A field with `?` is left out when there is nothing to say.

/** A refusal or a fault: a Kubernetes `Status`, with every code from 400 on. */
export interface Status {
  kind: "Status";
  apiVersion: "v1";
  status: "Failure";
  code: number;
  /** "Unauthorized", "Forbidden", "NotFound", "BadRequest", "Conflict", "TooManyRequests", "ServiceUnavailable", … */
  reason: string;
  message: string;
  details?: { causes?: Problem[]; retryAfterSeconds?: number };
}

/** What is wrong with an input, and where. Lines and columns begin with 1. */
export interface Problem {
  message: string;
  /** The path of the field: `profiles[0].plugins.score`. */
  field?: string;
  value?: string;
  /** What would be right. */
  hint?: string;
  /** The object, `Deployment default/web`, of a file with several. */
  object?: string;
  line?: number;
  column?: number;
}

// -- info ---------------------------------------------------------------------------------------------------------------

export type HostKind = "sandbox" | "run" | "file";

/** What this host can do. A page hides what is not named here. Unknown names are to be ignored. */
export type Capability =
  | "stream" // GET stream
  | "configuration" // GET configuration, POST configuration/validate
  | "try" // POST configuration/try, POST compare
  | "apply" // POST configuration/apply
  | "objects" // kube/…, GET templates, POST import, POST reset
  | "export" // GET export
  | "clock" // GET and POST clock
  | "decisionStep" // POST clock {"decisions": n}
  | "history"; // GET history, and ?at= wherever API.md says so

/** GET info */
export interface Info {
  host: HostKind;
  /** Of Steersman, and of kube-scheduler whose decisions it makes. */
  version: string;
  kubernetesVersion: string;
  readOnly: boolean;
  capabilities: Capability[];
  now: number;
  started: number;
  /** Names of the profiles. */
  profiles: string[];
  /** Seconds between two differences of the stream. */
  tickSeconds: number;
  /** For commands to copy: `--kubeconfig` of a sandbox. */
  kubeconfig?: string;
}

// -- cluster ------------------------------------------------------------------------------------------------------------

export type Lane = "active" | "backoff" | "errorBackoff" | "unschedulable" | "gated" | "inFlight";

export type Lanes = Record<Lane, number>;

/** A column of labels or the like: `values[codes[i]]` is the value of the i-th node, code -1: the node has none. */
export interface CodedColumn {
  values: string[];
  codes: number[];
}

export interface Taint {
  key: string;
  value?: string;
  effect: string;
}

/** All nodes, column by column: the i-th entry of every array is about the same node. */
export interface NodeColumns {
  /** The number by which differences name the node. It stays while the node is there; another may get it afterwards. */
  row: number[];
  name: string[];
  created: number[];
  /** 1: cordoned. */
  unschedulable: (0 | 1)[];
  /** 1: the condition Ready is True. */
  ready: (0 | 1)[];
  pods: number[];
  allowedPods: number[];
  /** By resource, aligned with `ClusterSnapshot.resources`. */
  allocatable: number[][];
  requested: number[][];
  /** Codes into `ClusterSnapshot.taintSets`. */
  taints: number[];
  /** By label key. `kubernetes.io/hostname` is left out where it is the node's name on all nodes. */
  labels: Record<string, CodedColumn>;
}

/** GET cluster, and the event `snapshot` of the stream. */
export interface ClusterSnapshot {
  /** Another one: the server was started anew, or the sandbox was reset; sequence numbers begin again. */
  epoch: string;
  seq: number;
  now: number;
  /** "cpu", "memory", "ephemeral-storage", then others by name; "pods" is apart. */
  resources: string[];
  taintSets: Taint[][];
  nodes: NodeColumns;
  totals: Totals;
  lanes: Lanes;
  rates: Rates;
  /** The last events, newest first, at most 50. */
  events: EventRow[];
  clock?: ClockState;
}

export interface Totals {
  nodes: number;
  /** Pods on nodes. */
  pods: number;
  /** Sum of allowedPods. */
  allowedPods: number;
  /** Pods without a node that this scheduler is to place. */
  pending: number;
  /** By resource, aligned with `resources`. */
  allocatable: number[];
  requested: number[];
}

/** Per second and quantiles over the last `seconds` of the scheduler's clock. */
export interface Rates {
  seconds: number;
  /** Pods scheduled per second, and attempts that ended otherwise. */
  scheduled: number;
  unschedulable: number;
  errors: number;
  /** Seconds from the pod's entry into the queue to its decision; null: nothing was scheduled. */
  latencyP50: number | null;
  latencyP99: number | null;
}

export interface EventRow {
  at: number;
  /** "Normal" or "Warning" */
  type: string;
  reason: string;
  /** `Pod default/web-0` */
  about: string;
  message: string;
  /** Who reports it: `kubelet`, `default-scheduler`, `replicaset-controller`. */
  component: string;
}

// -- stream -------------------------------------------------------------------------------------------------------------

/** The event `diff`: from `from` to `seq`. Whoever has `from` applies it; whoever has anything else has missed something and waits for a `snapshot`. */
export interface ClusterDiff {
  from: number;
  seq: number;
  now: number;
  /** Nodes whose pods or requests changed: new values, not differences. */
  used?: { row: number[]; pods: number[]; requested: number[][] };
  /** Nodes that are new, or whose object changed: complete rows. Apply after `resources`, `removed`, before `used`. */
  nodes?: NodeRow[];
  /** Rows of nodes that are gone. */
  removed?: number[];
  /** New resources: append them to `resources`, with 0 for all nodes. */
  resources?: string[];
  totals?: Totals;
  lanes?: Lanes;
  rates?: Rates;
  /** Pods that moved, oldest first, at most 200 of them; `movesOmitted` more are only counted in `lanes`. */
  moves?: PodMove[];
  movesOmitted?: number;
  /** New events, oldest first, at most 50. */
  events?: EventRow[];
  clock?: ClockState;
}

/** One node, whole. */
export interface NodeRow {
  row: number;
  name: string;
  created: number;
  unschedulable: 0 | 1;
  ready: 0 | 1;
  pods: number;
  allowedPods: number;
  /** Aligned with `resources`. */
  allocatable: number[];
  requested: number[];
  taints: Taint[];
  labels: Record<string, string>;
}

export interface PodMove {
  pod: string;
  at: number;
  /** Where it came from; "" for a pod that is new. */
  from: Lane | "";
  to: Lane | "bound" | "gone";
  node?: string;
}

// -- pods ---------------------------------------------------------------------------------------------------------------

/** Where a pod is, in one word. "elsewhere": without a node, and another scheduler's. */
export type PodPlace = Lane | "bound" | "elsewhere" | "finished";

/** GET pods?node=&place=&namespace=&text=&limit=&offset= : a table, column by column. */
export interface PodTable {
  now: number;
  /** How many there are in all. */
  total: number;
  offset: number;
  pod: string[];
  place: PodPlace[];
  /** "" without a node */
  node: string[];
  phase: string[];
  priority: number[];
  created: number[];
  attempts: number[];
  /** Requests by resource, aligned with `resources`. */
  resources: string[];
  requests: number[][];
}

/** GET pods/NAMESPACE/NAME */
export interface PodPage {
  now: number;
  pod: string;
  uid: string;
  place: PodPlace;
  phase: string;
  node: string;
  nominatedNode: string;
  profile: string;
  priority: number;
  created: number;
  /** `Deployment default/web`, the topmost owner that is known. */
  owner?: string;
  requests: Record<string, number>;
  attempts: number;
  timeline: TimelineEntry[];
  /** Decisions that are still known, latest first. */
  decisions: AttemptRecord[];
  /** Of a pod that waits. */
  cause?: Cause;
  wakers?: Waker[];
  /** When it is tried again unless something wakes it before; null: only an event wakes it. */
  nextAttempt?: number | null;
  events: EventRow[];
  yaml: string;
}

export type TimelineKind =
  | "created"
  | "gated"
  | "queued"
  | "attempt" // with the attempt's record in `decision`
  | "backoff"
  | "unschedulable"
  | "nominated"
  | "assumed"
  | "waitsOnPermit"
  | "bound"
  | "started"
  | "finished"
  | "deleted";

export interface TimelineEntry {
  kind: TimelineKind;
  at: number;
  /** For what lasts: gated, backoff, unschedulable. null: it lasts still. */
  until?: number | null;
  text: string;
  node?: string;
  /** Index into `decisions`. */
  decision?: number;
}

export type Outcome = "scheduled" | "unschedulable" | "error" | "not tried" | "undecided";

/** One decision, in short; also the entries of GET decisions?limit= (latest first). */
export interface AttemptRecord {
  pod: string;
  uid: string;
  profile: string;
  outcome: Outcome;
  at: number;
  node?: string;
  ties?: number;
  feasibleNodes?: number;
  message?: string;
  rejectedBy?: string[];
}

/** GET decisions?limit=100 */
export interface DecisionList {
  decisions: AttemptRecord[];
}

/** Codes of root causes: "InsufficientResources", "UntoleratedTaint", … see docs/explain.md. */
export type CauseCode = string;

export interface Cause {
  code: CauseCode;
  sentence: string;
  groups?: NodeGroup[];
}

export interface NodeGroup {
  code: CauseCode;
  plugin: string;
  /** As it reads after "but for". */
  objection: string;
  count: number;
  examples: string[];
  objections: number;
  nearest?: string;
}

/** A plugin that stands in the way, and the events that it waits for, in words. */
export interface Waker {
  plugin: string;
  events: string[];
}

// -- pending ------------------------------------------------------------------------------------------------------------

/** GET pending */
export interface PendingReport {
  now: number;
  total: number;
  /** The group with the oldest pod first. */
  groups: PendingGroup[];
}

export interface PendingGroup {
  /** Stays while the cause is the same: for keys and links. */
  id: string;
  code: CauseCode;
  /** "Insufficient nvidia.com/gpu", short enough for a heading. */
  title: string;
  /** The cause in a sentence, of the oldest pod. */
  sentence: string;
  /** kube-scheduler's message, of the oldest pod's last attempt; "" before the first. */
  message: string;
  plugins: string[];
  count: number;
  lanes: Partial<Lanes>;
  oldest: number;
  /** The earliest; null: only events wake them. */
  nextAttempt: number | null;
  wakers: Waker[];
  nodeGroups: NodeGroup[];
  /** The oldest 200. */
  pods: PendingPod[];
}

export interface PendingPod {
  pod: string;
  since: number;
  lane: Lane;
  attempts: number;
  priority: number;
  nextAttempt: number | null;
  nominatedNode?: string;
}

// -- matrix -------------------------------------------------------------------------------------------------------------

/** GET pods/NAMESPACE/NAME/matrix: nodes × plugins of one attempt. The i-th entry of every array is about the i-th node. */
export interface Matrix {
  pod: string;
  profile: string;
  /** "now": what nodes and plugins say now, as if the pod had no node; "recorded": what they said at `at`. */
  source: "now" | "recorded";
  at: number;
  outcome: Outcome;
  message: string;
  /** The chosen node, or the one that would be; "" : none fits. */
  node: string;
  /** How many nodes had the best total. */
  ties: number;
  /** By how much the chosen node is ahead of the best node with another total; null: there is none. */
  lead: number | null;
  /** Only the nominated node was looked at. */
  nominatedOnly: boolean;
  nodes: string[];
  /** As in the cluster snapshot. */
  row: number[];
  fits: (0 | 1)[];
  /** How many filters object. */
  objections: number[];
  preFilter: PreFilterVerdict;
  /** In the order of the profile. */
  filters: FilterColumn[];
  /** What verdicts stand for. */
  verdicts: Verdict[];
  /** Indexes of the nodes that were scored. `total` and the columns of `scores` are aligned with this. */
  scored: number[];
  total: number[];
  scores: ScoreColumn[];
  preemption?: Preemption;
  cause: Cause;
}

export interface PreFilterVerdict {
  /** Plugins that have nothing to do for the pod. */
  skipped: string[];
  rejection?: Verdict;
  /** Only these nodes may be looked at, and the plugins that say so. */
  nodes?: string[];
  restrictedBy?: string[];
}

export interface FilterColumn {
  plugin: string;
  /** The plugin has nothing to do for the pod: `verdict` is empty. */
  skipped: boolean;
  /** Index into `Matrix.verdicts`; -1: the node passes; -2: was not asked. */
  verdict: number[];
}

export interface Verdict {
  plugin: string;
  /** "Unschedulable", "UnschedulableAndUnresolvable", "Error", … */
  code: string;
  /** kube-scheduler's words. */
  reasons: string[];
  /** Which taint, label or port; how much is missing. */
  detail?: string;
}

export interface ScoreColumn {
  plugin: string;
  weight: number;
  skipped: boolean;
  raw: number[];
  normalised: number[];
  weighted: number[];
}

export interface Preemption {
  nominatedNode?: string;
  decidedBy?: string;
  ties?: string[];
  examinedNodes?: number;
  candidateNodes?: number;
  candidates?: { node: string; victims: { pod: string; priority: number }[]; pdbViolations?: number }[];
  clearedNominations?: string[];
  rejected?: { reasons: string[]; nodes: string[] }[];
}

/** GET room?pod=NAMESPACE/NAME : how many more pods like this one each node has room for, for the colours of the map. */
export interface RoomReport {
  pod: string;
  now: number;
  row: number[];
  /** Copies by resources and the limit of pods alone. */
  room: number[];
  /** Whether all filters agree with one more. */
  fits: (0 | 1)[];
}

// -- nodes --------------------------------------------------------------------------------------------------------------

/** GET nodes/NAME */
export interface NodePage {
  now: number;
  name: string;
  row: number;
  created: number;
  unschedulable: boolean;
  taints: Taint[];
  labels: Record<string, string>;
  conditions: { type: string; status: string; reason?: string; message?: string; since?: number }[];
  room: ResourceRoom[];
  pods: NodePod[];
  /** Pods for which room is being made here. */
  nominated: string[];
  images: { names: string[]; bytes: number }[];
  volumes: { driver: string; used: number; limit: number | null }[];
  attachedVolumes: string[];
  devices: { driver: string; pool: string; device: string; attributes?: Record<string, string>; allocatedTo?: string }[];
  nearMisses: NearMiss[];
  yaml: string;
}

export interface ResourceRoom {
  resource: string;
  capacity: number;
  allocatable: number;
  requested: number;
}

export interface NodePod {
  pod: string;
  phase: string;
  priority: number;
  created: number;
  requests: Record<string, number>;
  /** Decided, but the binding is not confirmed yet. */
  assumed?: boolean;
}

/** Pending pods to which a single plugin objects here; equal ones together. */
export interface NearMiss {
  plugin: string;
  objection: string;
  count: number;
  pods: string[];
}

// -- search -------------------------------------------------------------------------------------------------------------

/** GET search?q=TEXT&limit=20 : names that contain the text; those that begin with it first. */
export interface SearchResult {
  nodes: { name: string; row: number }[];
  pods: { pod: string; place: PodPlace; node: string }[];
  /** There are more. */
  truncated: boolean;
}

// -- configuration ------------------------------------------------------------------------------------------------------

export type ValueSource = "default" | "file" | "flag" | "applied";

/** GET configuration */
export interface ConfigurationPage {
  /** The KubeSchedulerConfiguration in effect, with all defaults. */
  yaml: string;
  /** What the user wrote; "" without a file. */
  written: string;
  file: string;
  profiles: ProfileConfiguration[];
  /** Every value in effect by its path, with where it comes from. */
  values: { field: string; value: string; source: ValueSource }[];
  featureGates: { name: string; enabled: boolean; source: ValueSource; stage?: string }[];
}

export interface ProfileConfiguration {
  schedulerName: string;
  plugins: PluginConfiguration[];
  percentageOfNodesToScore: number | null;
}

export interface PluginConfiguration {
  name: string;
  /** Extension points where it is enabled, in camelCase: "preFilter", "filter", "score", … */
  points: string[];
  /** 0: does not score. */
  weight: number;
  weightSource: ValueSource;
  /** Its arguments as YAML, "" without. */
  args: string;
  argsSource: ValueSource;
  /** false: a plugin that is not kube-scheduler's. */
  inTree: boolean;
}

/** POST configuration/validate */
export interface ValidateRequest {
  yaml: string;
}

export interface ValidateResult {
  valid: boolean;
  problems: Problem[];
  warnings: Problem[];
  /** What differs from the configuration in effect; empty when it is not valid. */
  differences: { field: string; from: string; to: string }[];
}

/** POST configuration/try : the last decisions again, under another configuration. */
export interface TryRequest {
  yaml: string;
  /** How many decisions, at most 1000. */
  last?: number;
}

/** POST compare : two configurations on the decisions of the same pods. `yaml` "" : the one in effect. */
export interface CompareRequest {
  a: { yaml: string };
  b: { yaml: string };
  last?: number;
}

/** POST compare/run : the last decisions beside another run. `pods`: nodes of those that are elsewhere there, "" for none. */
export interface CompareRunRequest {
  /** The other run's configuration; "" : the one in effect. */
  yaml: string;
  pods: Record<string, string>;
  last?: number;
}

/** Answer to try (a: the real decisions, b: those of the edited configuration) and to compare. */
export interface Comparison {
  /** How many pods were decided on both sides. */
  pods: number;
  moved: number;
  /** Placed by a alone, by b alone. */
  onlyA: number;
  onlyB: number;
  /** In the order of the decisions. */
  decisions: ComparedDecision[];
  /** Utilisation of nodes afterwards, for both: nodes in use, and the standard deviation of what is requested of each resource. */
  summary: { label: string; a: number; b: number; unit?: string }[];
  /** What could not be considered: pods that are gone, say. */
  notes: string[];
}

export interface ComparedDecision {
  pod: string;
  at: number;
  /** "" : no node. */
  a: string;
  b: string;
  same: boolean;
  /** The plugin that made the difference, and how, in words; of decisions that differ. */
  plugin?: string;
  why?: string;
  /** Score by plugin of both nodes as b sees them. */
  scores?: { plugin: string; weight: number; a: number | null; b: number | null }[];
}

/** POST configuration/apply (sandbox): ValidateRequest; 422 with causes when it is not valid. */
export interface ApplyResult {
  applied: true;
}

// -- objects (sandbox) --------------------------------------------------------------------------------------------------
// /web/v1/kube/… : every path of the Kubernetes API of the sandbox, with its methods, bodies and answers (JSON, no watch).

/** GET templates */
export interface TemplateList {
  kinds: KindTemplate[];
}

export interface KindTemplate {
  kind: string;
  apiVersion: string;
  plural: string;
  namespaced: boolean;
  /** For lists and creation: `kube/api/v1/namespaces/{namespace}/pods` or `kube/api/v1/nodes` */
  path: string;
  /** A manifest to begin with. */
  yaml: string;
  custom: boolean;
}

/** POST import?format=manifests|simulator&replace=false : the body is YAML or JSON text. */
export interface ImportResult {
  created: number;
  updated: number;
  problems: Problem[];
  /** The scheduler has the configuration of the file, a snapshot of kube-scheduler-simulator. */
  configured: boolean;
}

/** POST reset */
export interface ResetResult {
  deleted: number;
}

// -- time ---------------------------------------------------------------------------------------------------------------

/** GET clock, answer of POST clock. */
export interface ClockState {
  now: number;
  paused: boolean;
  stepping: boolean;
  /** "real", "60x", "max" */
  speed: string;
}

/** POST clock: one or more fields. */
export interface ClockRequest {
  paused?: boolean;
  /** Seconds to go on, then stop. */
  step?: number;
  speed?: string;
  /** So many decisions, then stop (capability decisionStep). */
  decisions?: number;
}

/** GET history : what there is to look back at. `?at=SECONDS` on cluster, pending, pods, nodes and search shows that moment. */
export interface History {
  from: number;
  to: number;
  /** Moments for the slider, oldest first. */
  marks: { at: number; pods: number; pending: number; nodes: number }[];
}

// -- a file -------------------------------------------------------------------------------------------------------------

/**
 * `steersman simulate --report out.html --interactive`: the page finds `<script type="application/json" id="steersman-data">`
 * with this. Instead of asking a server it looks the path up, as it would have been asked for behind `/web/v1/`
 * (`pods/default/web-0/matrix`), in blocks (`report_file.ts`); what is not there is answered with a 404.
 */
export interface FileData {
  info: Info;
  /** How many elements `steersman-block-0`, `steersman-block-1`, … there are. */
  blocks: number;
}
