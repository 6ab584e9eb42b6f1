// SPDX-License-Identifier: Apache-2.0
/** Manifests as text, as far as the page has to look into them; the server reads the rest. */

/** A manifest as kubectl shows it: without the book-keeping of server-side apply, which nobody edits. */
export function withoutManagedFields(yaml: string): string {
  const lines = yaml.split("\n");
  const begin = lines.findIndex((line) => /^ {2}managedFields:/.test(line));
  if (begin < 0) return yaml;
  let end = begin + 1;
  while (end < lines.length && /^(?: {3}| {2}-)/.test(lines[end] ?? "")) end += 1;
  return [...lines.slice(0, begin), ...lines.slice(end)].join("\n");
}

/** The namespace that a manifest names in its metadata, or "". */
export function namespaceOf(yaml: string): string {
  const lines = yaml.split("\n");
  const begin = lines.findIndex((line) => /^metadata:\s*$/.test(line));
  for (const line of begin < 0 ? [] : lines.slice(begin + 1)) {
    if (/^\S/.test(line)) break;
    const found = /^ {1,8}namespace:\s*["']?([\w.-]+)/.exec(line);
    if (found) return found[1] ?? "";
  }
  return "";
}
