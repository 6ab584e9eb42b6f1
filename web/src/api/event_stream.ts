// SPDX-License-Identifier: Apache-2.0
/**
 * Parser of server-sent events from a fetched body, because `EventSource` cannot send an Authorization header and
 * tokens do not belong in URLs.
 */

export interface StreamEvent {
  readonly event: string;
  readonly data: string;
  readonly id: string;
}

/** Converts chunks of text, split anywhere, into events. */
export class EventStreamParser {
  private rest = "";
  private event = "";
  private data: string[] = [];
  private id = "";

  push(piece: string): StreamEvent[] {
    const found: StreamEvent[] = [];
    const lines = (this.rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") this.end(found);
      else this.line(line);
    }
    return found;
  }

  private line(line: string): void {
    if (line.startsWith(":")) return;
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") this.event = value;
    else if (field === "data") this.data.push(value);
    else if (field === "id") this.id = value;
  }

  private end(found: StreamEvent[]): void {
    if (this.data.length) found.push({ event: this.event || "message", data: this.data.join("\n"), id: this.id });
    this.event = "";
    this.data = [];
  }
}
