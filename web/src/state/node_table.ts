// SPDX-License-Identifier: Apache-2.0
/**
 * All nodes, column by column in typed arrays: 5,000 nodes take a few hundred kilobytes, and a change of 500 nodes
 * writes 500 numbers. The row of a node is its number on the server; rows without a node are not `alive`.
 */
import type { ClusterDiff, ClusterSnapshot, NodeRow, Taint } from "../api/types";

export interface LabelColumn {
  readonly values: string[];
  /** By row; -1: the node does not have the label. */
  codes: Int32Array;
}

export class NodeTable {
  readonly resources: string[];
  readonly taintSets: Taint[][];
  readonly labels = new Map<string, LabelColumn>();
  capacity: number;
  names: string[];
  alive: Uint8Array;
  created: Float64Array;
  unschedulable: Uint8Array;
  ready: Uint8Array;
  pods: Int32Array;
  allowedPods: Int32Array;
  taints: Int32Array;
  /** By resource, then by row. */
  allocatable: Float64Array[];
  requested: Float64Array[];
  private readonly taintCodes = new Map<string, number>();
  private rows = new Map<string, number>();

  constructor(snapshot: ClusterSnapshot) {
    const { nodes } = snapshot;
    this.resources = [...snapshot.resources];
    this.taintSets = [...snapshot.taintSets];
    this.taintSets.forEach((set, code) => this.taintCodes.set(JSON.stringify(set), code));
    this.capacity = nodes.row.reduce((most, row) => Math.max(most, row + 1), 0);
    const { capacity } = this;
    this.names = new Array<string>(capacity).fill("");
    this.alive = new Uint8Array(capacity);
    nodes.row.forEach((row, index) => {
      this.names[row] = nodes.name[index] ?? "";
      this.alive[row] = 1;
      this.rows.set(nodes.name[index] ?? "", row);
    });
    this.created = scatter(new Float64Array(capacity), nodes.row, nodes.created);
    this.unschedulable = scatter(new Uint8Array(capacity), nodes.row, nodes.unschedulable);
    this.ready = scatter(new Uint8Array(capacity), nodes.row, nodes.ready);
    this.pods = scatter(new Int32Array(capacity), nodes.row, nodes.pods);
    this.allowedPods = scatter(new Int32Array(capacity), nodes.row, nodes.allowedPods);
    this.taints = scatter(new Int32Array(capacity), nodes.row, nodes.taints);
    this.allocatable = this.resources.map((_, at) => scatter(new Float64Array(capacity), nodes.row, nodes.allocatable[at] ?? []));
    this.requested = this.resources.map((_, at) => scatter(new Float64Array(capacity), nodes.row, nodes.requested[at] ?? []));
    for (const [key, column] of Object.entries(nodes.labels)) {
      const codes = scatter(new Int32Array(capacity).fill(-1), nodes.row, column.codes);
      this.labels.set(key, { values: [...column.values], codes });
    }
  }

  /** Return the row of a node by its name, or -1. */
  rowOf(name: string): number {
    return this.rows.get(name) ?? -1;
  }

  /** Rows with a node. */
  living(): number[] {
    const rows: number[] = [];
    for (let row = 0; row < this.capacity; row += 1) if (this.alive[row]) rows.push(row);
    return rows;
  }

  label(row: number, key: string): string | undefined {
    const column = this.labels.get(key);
    return column?.values[column.codes[row] ?? -1];
  }

  labelsOf(row: number): Record<string, string> {
    const found: Record<string, string> = {};
    for (const key of [...this.labels.keys()].sort()) {
      const value = this.label(row, key);
      if (value !== undefined) found[key] = value;
    }
    return found;
  }

  /** Return requested divided by allocatable, for one resource or for pods; 0 if nothing is allocatable. */
  utilisation(row: number, resource: string): number {
    if (resource === "pods") return ratio(this.pods[row], this.allowedPods[row]);
    const at = this.resources.indexOf(resource);
    return at < 0 ? 0 : ratio(this.requested[at]?.[row], this.allocatable[at]?.[row]);
  }

  /** Return the largest utilisation of any resource. */
  dominant(row: number): number {
    let most = ratio(this.pods[row], this.allowedPods[row]);
    for (let at = 0; at < this.resources.length; at += 1) {
      most = Math.max(most, ratio(this.requested[at]?.[row], this.allocatable[at]?.[row]));
    }
    return most;
  }

  /** Group the rows by the value of a label; "" puts all into one group. */
  groups(key: string): Map<string, number[]> {
    const groups = new Map<string, number[]>();
    for (const row of this.living()) {
      const name = key === "" ? "all nodes" : (this.label(row, key) ?? `without ${key}`);
      const group = groups.get(name);
      if (group) group.push(row);
      else groups.set(name, [row]);
    }
    return groups;
  }

  /** Apply a difference; return the rows whose numbers changed, and whether nodes were added, deleted or changed. */
  apply(diff: ClusterDiff): { dirty: number[]; reshaped: boolean } {
    for (const resource of diff.resources ?? []) this.addResource(resource);
    for (const row of diff.removed ?? []) this.remove(row);
    for (const node of diff.nodes ?? []) this.put(node);
    const dirty = (diff.nodes ?? []).map((node) => node.row);
    if (diff.used) this.use(diff.used, dirty);
    return { dirty, reshaped: Boolean(diff.removed?.length || diff.nodes?.length) };
  }

  private use(used: NonNullable<ClusterDiff["used"]>, dirty: number[]): void {
    used.row.forEach((row, index) => {
      if (row >= this.capacity) return;
      this.pods[row] = used.pods[index] ?? 0;
      this.requested.forEach((column, at) => (column[row] = used.requested[at]?.[index] ?? 0));
      dirty.push(row);
    });
  }

  private addResource(resource: string): void {
    this.resources.push(resource);
    this.allocatable.push(new Float64Array(this.capacity));
    this.requested.push(new Float64Array(this.capacity));
  }

  private remove(row: number): void {
    if (row >= this.capacity) return;
    this.rows.delete(this.names[row] ?? "");
    this.alive[row] = 0;
    this.names[row] = "";
    for (const column of this.labels.values()) column.codes[row] = -1;
  }

  private put(node: NodeRow): void {
    if (node.row >= this.capacity) this.grow(node.row + 1);
    const { row } = node;
    this.alive[row] = 1;
    this.names[row] = node.name;
    this.rows.set(node.name, row);
    this.created[row] = node.created;
    this.unschedulable[row] = node.unschedulable;
    this.ready[row] = node.ready;
    this.pods[row] = node.pods;
    this.allowedPods[row] = node.allowedPods;
    this.allocatable.forEach((column, at) => (column[row] = node.allocatable[at] ?? 0));
    this.requested.forEach((column, at) => (column[row] = node.requested[at] ?? 0));
    this.taints[row] = this.taintCode(node.taints);
    this.putLabels(row, node.labels);
  }

  private putLabels(row: number, labels: Record<string, string>): void {
    for (const column of this.labels.values()) column.codes[row] = -1;
    for (const [key, value] of Object.entries(labels)) {
      const column = this.labels.get(key) ?? { values: [], codes: new Int32Array(this.capacity).fill(-1) };
      this.labels.set(key, column);
      let code = column.values.indexOf(value);
      if (code < 0) code = column.values.push(value) - 1;
      column.codes[row] = code;
    }
  }

  private taintCode(taints: Taint[]): number {
    const key = JSON.stringify(taints);
    const code = this.taintCodes.get(key) ?? this.taintSets.push(taints) - 1;
    this.taintCodes.set(key, code);
    return code;
  }

  private grow(needed: number): void {
    const capacity = Math.max(needed, Math.ceil(this.capacity * 1.25));
    this.names = this.names.concat(new Array<string>(capacity - this.capacity).fill(""));
    this.alive = grown(this.alive, capacity);
    this.created = grown(this.created, capacity);
    this.unschedulable = grown(this.unschedulable, capacity);
    this.ready = grown(this.ready, capacity);
    this.pods = grown(this.pods, capacity);
    this.allowedPods = grown(this.allowedPods, capacity);
    this.taints = grown(this.taints, capacity);
    this.allocatable = this.allocatable.map((column) => grown(column, capacity));
    this.requested = this.requested.map((column) => grown(column, capacity));
    for (const column of this.labels.values()) {
      const codes = grown(column.codes, capacity);
      codes.fill(-1, this.capacity);
      column.codes = codes;
    }
    this.capacity = capacity;
  }
}

type Column = Float64Array | Int32Array | Uint8Array;

function scatter<T extends Column>(target: T, rows: readonly number[], values: readonly number[]): T {
  rows.forEach((row, index) => (target[row] = values[index] ?? 0));
  return target;
}

function grown<T extends Column>(column: T, capacity: number): T {
  const larger = new (column.constructor as new (size: number) => T)(capacity);
  larger.set(column);
  return larger;
}

function ratio(part = 0, whole = 0): number {
  return whole > 0 ? part / whole : part > 0 ? 2 : 0;
}
