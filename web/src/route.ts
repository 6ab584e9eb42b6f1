// SPDX-License-Identifier: Apache-2.0
/**
 * The current view, stored in the fragment of the address (`#/pod/default/web-0?attempt=2`): every view has a link,
 * which also works in a file without a server. Fragments are never sent to a server, so they may contain a token.
 */

export interface Route {
  /** Decoded parts of the path: `["pod", "default", "web-0"]`. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

export type Query = Readonly<Record<string, string | number | null | undefined>>;

/** Parse a fragment; an empty one is the first page. */
export function parseRoute(fragment: string): Route {
  const text = fragment.replace(/^#?\/?/, "");
  const mark = text.indexOf("?");
  const path = (mark < 0 ? text : text.slice(0, mark)).split("/").filter(Boolean).map(decode);
  const query: Record<string, string> = {};
  if (mark >= 0) for (const [name, value] of new URLSearchParams(text.slice(mark + 1))) query[name] = value;
  return { path: path.length ? path : ["cluster"], query };
}

/** Stands for an empty value that the reader has chosen, because empty values are omitted from the query. */
export const NONE = "-";

/** Return the fragment of a view; empty values are omitted from the query. */
export function link(path: readonly string[], query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") parameters.set(name, String(value));
  }
  const tail = parameters.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${tail ? `?${tail}` : ""}`;
}

/** Return the token of a fragment `#token=…`, and the fragment without it; a view may follow after `&`. */
export function takeToken(fragment: string): { token: string | null; rest: string } {
  const match = /^#token=([^&]*)(?:&(.*))?$/.exec(fragment);
  if (!match) return { token: null, rest: fragment };
  return { token: decode(match[1] ?? ""), rest: match[2] ? `#${match[2]}` : "#/cluster" };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
