// SPDX-License-Identifier: Apache-2.0
/** The pods of visible nodes, loaded when the map is zoomed in, and drawn as boxes inside their node. */
import type { Host } from "../api/host";
import type { PodTable } from "../api/types";
import type { NodeTable } from "../state/node_table";
import type { Palette } from "./colours";

const AT_ONCE = 3;
const NODES_KEPT = 400;
const PODS_PER_NODE = 250;

interface Box {
  readonly pod: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface NodePods {
  /** Number of pods of the node when they were loaded. */
  readonly count: number;
  readonly pods: readonly string[];
}

export class PodBoxes {
  private readonly known = new Map<string, NodePods>();
  private readonly asked = new Set<string>();
  private waiting: string[] = [];

  constructor(
    private readonly host: Host,
    private readonly at: number | null,
    private readonly arrived: () => void,
  ) {}

  /** Load the pods of visible nodes whose number of pods has changed; only the last view counts. */
  want(nodes: NodeTable, rows: readonly number[]): void {
    this.waiting = rows
      .map((row) => nodes.names[row] ?? "")
      .filter((name) => this.known.get(name)?.count !== nodes.pods[nodes.rowOf(name)] && !this.asked.has(name));
    this.next(nodes);
  }

  private next(nodes: NodeTable): void {
    while (this.asked.size < AT_ONCE) {
      const name = this.waiting.shift();
      if (name === undefined) return;
      this.asked.add(name);
      void this.ask(nodes, name);
    }
  }

  private async ask(nodes: NodeTable, name: string): Promise<void> {
    const count = nodes.pods[nodes.rowOf(name)] ?? 0;
    try {
      const table = await this.host.get<PodTable>("pods", { node: name, limit: PODS_PER_NODE, at: this.at });
      this.keep(name, { count, pods: table.pod });
    } catch {
      this.keep(name, { count, pods: [] });
    }
    this.asked.delete(name);
    this.arrived();
    this.next(nodes);
  }

  private keep(name: string, pods: NodePods): void {
    this.known.delete(name);
    this.known.set(name, pods);
    const oldest = this.known.size > NODES_KEPT ? this.known.keys().next().value : undefined;
    if (oldest !== undefined) this.known.delete(oldest);
  }

  /** Draw the pods of a node into a rectangle; return false if they are not loaded. */
  draw(pen: CanvasRenderingContext2D, node: string, x: number, y: number, width: number, height: number, palette: Palette): boolean {
    const pods = this.known.get(node)?.pods;
    if (!pods?.length) return pods !== undefined;
    for (const box of arrange(pods, width, height)) {
      pen.fillStyle = palette.kinds[hash(box.pod.slice(0, box.pod.indexOf("/"))) % palette.kinds.length] ?? palette.accent;
      pen.fillRect(x + box.x, y + box.y, box.width, box.height);
      if (box.width < 46 || box.height < 12) continue;
      const room = Math.floor((box.width - 6) / 5.2);
      const name = box.pod.slice(box.pod.indexOf("/") + 1);
      pen.font = "9px system-ui, sans-serif";
      pen.fillStyle = palette.paper;
      pen.fillText(name.length > room ? `${name.slice(0, room - 1)}…` : name, x + box.x + 3, y + box.y + box.height / 2 + 3);
    }
    return true;
  }

  /** Return the pod at a point of a node's rectangle, or "". */
  podAt(node: string, x: number, y: number, width: number, height: number): string {
    const pods = this.known.get(node)?.pods ?? [];
    const hit = arrange(pods, width, height).find((box) => x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height);
    return hit?.pod ?? "";
  }
}

/** Return a grid of equal boxes, as wide as possible. */
export function arrange(pods: readonly string[], width: number, height: number): Box[] {
  if (!pods.length) return [];
  const columns = Math.max(1, Math.ceil(Math.sqrt((pods.length * width) / (3 * Math.max(1, height)))));
  const lines = Math.ceil(pods.length / columns);
  const [wide, high] = [width / columns, Math.min(16, height / lines)];
  const gap = high > 4 ? 1 : 0;
  return pods.map((pod, index) => ({
    pod,
    x: (index % columns) * wide,
    y: Math.floor(index / columns) * high,
    width: wide - gap,
    height: high - gap,
  }));
}

function hash(text: string): number {
  let value = 7;
  for (let at = 0; at < text.length; at += 1) value = (value * 31 + text.charCodeAt(at)) >>> 0;
  return value;
}
