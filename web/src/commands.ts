// SPDX-License-Identifier: Apache-2.0
/** Terminal commands that show or do the same as a page. */
import type { Info } from "./api/types";

/** Quote a word for a POSIX shell. */
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
