// SPDX-License-Identifier: Apache-2.0
/**
 * Where the reader is, kept in the fragment of the address (`#/pod/default/web-0?attempt=2`): every view has a link, and the
 * same links work in a file without a server. The fragment is never sent to a server, so a token may come in it.
 */

export interface Route {
  /** The parts of the path, decoded: `["pod", "default", "web-0"]`. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

export type Query = Readonly<Record<string, string | number | null | undefined>>;

/** What a fragment says; an empty one is the first page. */
export function parseRoute(fragment: string): Route {
  const text = fragment.replace(/^#?\/?/, "");
  const mark = text.indexOf("?");
  const path = (mark < 0 ? text : text.slice(0, mark)).split("/").filter(Boolean).map(decode);
  const query: Record<string, string> = {};
  if (mark >= 0) for (const [name, value] of new URLSearchParams(text.slice(mark + 1))) query[name] = value;
  return { path: path.length ? path : ["cluster"], query };
}

/** Stands for an empty value that a reader has chosen: empty values themselves are left out of the query. */
export const NONE = "-";

/** The fragment of a place; empty values are left out of the query. */
export function link(path: readonly string[], query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") parameters.set(name, String(value));
  }
  const tail = parameters.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${tail ? `?${tail}` : ""}`;
}

/** The token that a fragment `#token=…` carries, and the fragment without it; a place may follow after `&`. */
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
