// SPDX-License-Identifier: Apache-2.0
/** The pages, and the capabilities of a host that each needs. */
import type { Component } from "svelte";
import type { Capability } from "./api/types";
import Cluster from "./pages/Cluster.svelte";
import Compare from "./pages/Compare.svelte";
import Configuration from "./pages/Configuration.svelte";
import NodePage from "./pages/Node.svelte";
import Nodes from "./pages/Nodes.svelte";
import Objects from "./pages/Objects.svelte";
import Pending from "./pages/Pending.svelte";
import PodPage from "./pages/Pod.svelte";
import Pods from "./pages/Pods.svelte";
import Time from "./pages/Time.svelte";

export interface PageEntry {
  /** First part of the page's address. */
  readonly name: string;
  readonly title: string;
  /** The host needs at least one of these capabilities; without an entry, every host has the page. */
  readonly needs?: readonly Capability[];
  /** Other first parts that belong to the page: the page of one pod belongs to the list of pods. */
  readonly includes?: readonly string[];
  /** Recreated when another object is shown. */
  readonly keyed?: boolean;
  readonly component: (name: string) => Component;
}

export const pages: readonly PageEntry[] = [
  { name: "cluster", title: "Cluster", component: () => Cluster },
  { name: "pending", title: "Pending", component: () => Pending },
  { name: "pods", title: "Pods", includes: ["pod"], keyed: true, component: (name) => (name === "pod" ? PodPage : Pods) },
  { name: "nodes", title: "Nodes", includes: ["node"], keyed: true, component: (name) => (name === "node" ? NodePage : Nodes) },
  { name: "configuration", title: "Configuration", needs: ["configuration"], component: () => Configuration },
  { name: "objects", title: "Objects", needs: ["objects"], component: () => Objects },
  { name: "time", title: "Time", needs: ["clock", "history"], component: () => Time },
  { name: "compare", title: "Compare", needs: ["try"], component: () => Compare },
];
