// SPDX-License-Identifier: Apache-2.0
// Parts of the web API that are not structs: unions of texts, and answers of one or two fields. `types.ts` is generated.

import type { AttemptRecord, Info, Problem } from "./types";

/** A refusal or an error: a Kubernetes `Status` with a code of 400 or above. */
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

export type HostKind = "sandbox" | "run" | "file";

/** Capabilities of the host. Pages hide features without a capability; unknown names are ignored. */
export type Capability =
  | "stream" // GET stream
  | "configuration" // GET configuration, POST configuration/validate
  | "try" // POST configuration/try, POST compare
  | "apply" // POST configuration/apply
  | "objects" // kube/…, GET templates, POST import, POST reset
  | "export" // GET export
  | "clock" // GET and POST clock
  | "decisionStep" // POST clock {"decisions": n}
  | "fixes" // GET fixes?pod=
  | "history"; // GET history, and ?at= wherever docs/web-api.md says so

export type Lane = "active" | "backoff" | "errorBackoff" | "unschedulable" | "gated" | "inFlight";

/** Place of a pod in one word. "elsewhere": without a node, and for another scheduler. */
export type PodPlace = Lane | "bound" | "elsewhere" | "finished";

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

export type Outcome = "scheduled" | "unschedulable" | "error" | "not tried" | "undecided";

/** GET decisions?limit=100 */
export interface DecisionList {
  decisions: AttemptRecord[];
}

/** Codes of root causes: "InsufficientResources", "UntoleratedTaint", … see docs/explain.md. */
export type CauseCode = string;

export type ValueSource = "default" | "file" | "flag" | "applied";

/** POST configuration/validate */
export interface ValidateRequest {
  yaml: string;
}

/** POST configuration/apply (sandbox): ValidateRequest; 422 with causes when it is not valid. */
export interface ApplyResult {
  applied: true;
}

/** POST reset */
export interface ResetResult {
  deleted: number;
}

/** POST clock: one or more fields. */
export interface ClockRequest {
  paused?: boolean;
  /** Advance by this number of seconds, then stop. */
  step?: number;
  speed?: string;
  /** Make this number of decisions, then stop (capability decisionStep). */
  decisions?: number;
}

/**
 * `steersman simulate --report out.html --interactive`: the page finds `<script type="application/json" id="steersman-data">`
 * with this. Instead of asking a server it looks the path up, as it would have been asked for behind `/web/v1/`
 * (`pods/default/web-0/matrix`), in blocks (`report_file.ts`); what is not there is answered with a 404.
 */
export interface FileData {
  info: Info;
  /** Number of elements `steersman-block-0`, `steersman-block-1`, … */
  blocks: number;
}
