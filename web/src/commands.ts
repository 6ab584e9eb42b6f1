// SPDX-License-Identifier: Apache-2.0
/** Commands for a terminal that show or do what a page shows. */
import type { Info } from "./api/types";

/** A word as a POSIX shell takes it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

export function kubectl(info: Info | null, ...words: readonly string[]): string {
  const cluster = info?.kubeconfig ? ["--kubeconfig", info.kubeconfig] : [];
  return ["kubectl", ...cluster, ...words].map(quoted).join(" ");
}

export function steersman(info: Info | null, command: string, ...words: readonly string[]): string {
  const cluster = info?.kubeconfig ? ["--kubeconfig", info.kubeconfig] : [];
  return ["steersman", command, ...cluster, ...words].map(quoted).join(" ");
}
