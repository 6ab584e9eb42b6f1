// SPDX-License-Identifier: Apache-2.0
// Written by `python -m scripts.web_types` from the structs of the web API. Edit these instead.
//
// Times are seconds since the Unix epoch by the clock of the scheduler, which in a sandbox may run faster or stand still.
// Amounts are integers: cpu in millicores, everything else in its base unit (bytes, pieces).
// docs/web-api.md describes the fields.

import type { Capability, CauseCode, HostKind, Lane, Outcome, PodPlace, TimelineKind, ValueSource } from "./values";
export type * from "./values";

export interface Info {
  host: HostKind;
  version: string;
  kubernetesVersion: string;
  readOnly: boolean;
  capabilities: Capability[];
  now: number;
  started: number;
  profiles: string[];
  tickSeconds: number;
  kubeconfig?: string;
}

export interface ClusterSnapshot {
  epoch: string;
  seq: number;
  now: number;
  resources: string[];
  taintSets: Taint[][];
  nodes: NodeColumns;
  totals: Totals;
  lanes: Lanes;
  ratePoints: RatePoints;
  events: EventRow[];
  clock?: ClockState | null;
}

export interface Taint {
  key: string;
  effect: string;
  value?: string;
}

export interface NodeColumns {
  row: number[];
  name: string[];
  created: number[];
  unschedulable: (0 | 1)[];
  ready: (0 | 1)[];
  pods: number[];
  allowedPods: number[];
  allocatable: number[][];
  requested: number[][];
  taints: number[];
  labels: Record<string, CodedColumn>;
}

export interface CodedColumn {
  values: string[];
  codes: number[];
}

export interface Totals {
  nodes: number;
  pods: number;
  allowedPods: number;
  pending: number;
  allocatable: number[];
  requested: number[];
}

export interface Lanes {
  active: number;
  backoff: number;
  errorBackoff: number;
  unschedulable: number;
  gated: number;
  inFlight: number;
}

export interface RatePoints {
  at: number[];
  scheduled: number[];
  unschedulable: number[];
  errors: number[];
  latencyP50: (number | null)[];
  latencyP99: (number | null)[];
}

export interface EventRow {
  at: number;
  type: string;
  reason: string;
  about: string;
  message: string;
  component: string;
  count: number;
}

export interface ClockState {
  now: number;
  paused: boolean;
  stepping: boolean;
  speed: string;
}

export interface ClusterDiff {
  from: number;
  seq: number;
  now: number;
  used?: UsedRows;
  nodes?: NodeRow[];
  removed?: number[];
  resources?: string[];
  totals?: Totals;
  lanes?: Lanes;
  ratePoints?: RatePoints;
  moves?: PodMove[];
  movesOmitted?: number;
  events?: EventRow[];
  clock?: ClockState;
}

export interface UsedRows {
  row: number[];
  pods: number[];
  requested: number[][];
}

export interface NodeRow {
  row: number;
  name: string;
  created: number;
  unschedulable: 0 | 1;
  ready: 0 | 1;
  pods: number;
  allowedPods: number;
  allocatable: number[];
  requested: number[];
  taints: Taint[];
  labels: Record<string, string>;
}

export interface PodMove {
  pod: string;
  at: number;
  from: Lane | "";
  to: Lane | "bound" | "gone";
  node?: string;
}

export interface PodTable {
  now: number;
  total: number;
  offset: number;
  pod: string[];
  place: PodPlace[];
  node: string[];
  phase: string[];
  priority: number[];
  created: number[];
  attempts: number[];
  resources: string[];
  requests: number[][];
}

export interface SearchResult {
  nodes: FoundNode[];
  pods: FoundPod[];
  truncated: boolean;
}

export interface FoundNode {
  name: string;
  row: number;
}

export interface FoundPod {
  pod: string;
  place: PodPlace;
  node: string;
}

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
  requests: Record<string, number>;
  attempts: number;
  timeline: TimelineEntry[];
  decisions: AttemptRecord[];
  events: EventRow[];
  yaml: string;
  owner?: string;
  cause?: Cause;
  wakers?: RequeueEvents[];
  nextAttempt?: number | null;
}

export interface TimelineEntry {
  kind: TimelineKind;
  at: number;
  text: string;
  until?: number | null;
  node?: string;
  decision?: number;
}

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

export interface Cause {
  code: CauseCode;
  sentence: string;
  groups?: NodeGroup[];
}

export interface NodeGroup {
  code: CauseCode;
  plugin: string;
  objection: string;
  count: number;
  examples: string[];
  objections: number;
  nearest?: string;
  details?: GroupDetail[];
}

export interface GroupDetail {
  text: string;
  count: number;
}

export interface RequeueEvents {
  plugin: string;
  events: string[];
  reasons: string[];
  nodes: number;
}

export interface PendingReport {
  now: number;
  total: number;
  groups: PendingGroup[];
}

export interface PendingGroup {
  id: string;
  code: string;
  title: string;
  sentence: string;
  message: string;
  plugins: string[];
  count: number;
  lanes: Partial<Lanes>;
  oldest: number;
  nextAttempt: number | null;
  wakers: RequeueEvents[];
  nodeGroups: NodeGroup[];
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

export interface Matrix {
  pod: string;
  profile: string;
  source: "now" | "recorded";
  at: number;
  outcome: Outcome;
  message: string;
  node: string;
  placedOn: string;
  ties: number;
  lead: number | null;
  nominatedOnly: boolean;
  nodes: string[];
  row: number[];
  fits: (0 | 1)[];
  objections: number[];
  preFilter: PreFilterVerdict;
  filters: FilterColumn[];
  verdicts: Verdict[];
  scored: number[];
  total: number[];
  scores: ScoreColumn[];
  cause: Cause;
  preemption?: Preemption;
}

export interface PreFilterVerdict {
  skipped?: string[];
  rejection?: Verdict;
  nodes?: string[];
  restrictedBy?: string[];
}

export interface Verdict {
  plugin: string;
  code: string;
  reasons?: string[];
}

export interface FilterColumn {
  plugin: string;
  skipped: boolean;
  verdict: number[];
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
  candidates?: PreemptionCandidate[];
  clearedNominations?: string[];
  rejected?: PreemptionRejection[];
}

export interface PreemptionCandidate {
  node: string;
  victims: Victim[];
  pdbViolations?: number;
}

export interface Victim {
  pod: string;
  priority: number;
}

export interface PreemptionRejection {
  reasons: string[];
  nodes: string[];
}

export interface RoomReport {
  pod: string;
  now: number;
  row: number[];
  room: number[];
  fits: (0 | 1)[];
}

export interface NodePage {
  now: number;
  name: string;
  row: number;
  created: number;
  unschedulable: boolean;
  taints: Taint[];
  labels: Record<string, string>;
  conditions: NodeCondition[];
  room: ResourceRoom[];
  pods: NodePod[];
  nominated: string[];
  images: NodeImage[];
  volumes: VolumeRoom[];
  attachedVolumes: string[];
  devices: NodeDevice[];
  nearMisses: NearMiss[];
  yaml: string;
}

export interface NodeCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  since?: number;
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
  assumed?: boolean;
}

export interface NodeImage {
  names: string[];
  bytes: number;
}

export interface VolumeRoom {
  driver: string;
  used: number;
  limit: number | null;
}

export interface NodeDevice {
  driver: string;
  pool: string;
  device: string;
  attributes?: Record<string, string>;
  allocatedTo?: string;
}

export interface NearMiss {
  plugin: string;
  objection: string;
  count: number;
  pods: string[];
}

export interface ConfigurationPage {
  yaml: string;
  written: string;
  file: string;
  source: "default" | "file" | "applied";
  profiles: ProfileConfiguration[];
  values: EffectiveValue[];
  featureGates: EffectiveGate[];
}

export interface ProfileConfiguration {
  schedulerName: string;
  plugins: PluginConfiguration[];
  percentageOfNodesToScore: number | null;
}

export interface PluginConfiguration {
  name: string;
  points: string[];
  weight: number;
  weightSource: ValueSource;
  args: string;
  argsSource: ValueSource;
  inTree: boolean;
}

export interface EffectiveValue {
  field: string;
  value: string;
  source: ValueSource;
}

export interface EffectiveGate {
  name: string;
  enabled: boolean;
  source: ValueSource;
  stage: string;
}

export interface ValidateResult {
  valid: boolean;
  problems: Problem[];
  warnings: Problem[];
  differences: ConfigurationDifference[];
}

export interface Problem {
  message: string;
  field?: string;
  value?: string;
  hint?: string;
  object?: string;
  line?: number;
}

export interface ConfigurationDifference {
  field: string;
  from: string;
  to: string;
}

export interface TryRequest {
  yaml: string;
  last?: number;
}

export interface CompareRequest {
  a: TryRequest;
  b: TryRequest;
  last?: number;
}

export interface CompareRunRequest {
  pods: Record<string, string>;
  yaml?: string;
  last?: number;
}

export interface Comparison {
  pods: number;
  moved: number;
  onlyA: number;
  onlyB: number;
  decisions: ComparedDecision[];
  summary: SummaryLine[];
  notes: string[];
}

export interface ComparedDecision {
  pod: string;
  at: number;
  a: string;
  b: string;
  same: boolean;
  plugin?: string;
  why?: string;
  scores?: ScorePair[];
}

export interface ScorePair {
  plugin: string;
  weight: number;
  a: number | null;
  b: number | null;
}

export interface SummaryLine {
  label: string;
  a: number;
  b: number;
  unit?: string;
}

export interface TemplateList {
  kinds: KindTemplate[];
}

export interface KindTemplate {
  kind: string;
  apiVersion: string;
  plural: string;
  namespaced: boolean;
  path: string;
  yaml: string;
  custom: boolean;
}

export interface CreationResult {
  created: string[];
  updated: string[];
  problems: Problem[];
}

export interface ImportResult {
  created: number;
  updated: number;
  problems: Problem[];
  configured: boolean;
}

export interface FixesPage {
  pod: string;
  summary: string;
  fixes: PodFix[];
}

export interface PodFix {
  kind: string;
  summary: string;
  commands: string[];
  node?: string;
  evicts?: string[];
}

export interface History {
  from: number;
  to: number;
  marks: HistoryMark[];
}

export interface HistoryMark {
  at: number;
  pods: number;
  pending: number;
  nodes: number;
}
