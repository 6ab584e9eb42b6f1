// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { EventStreamParser } from "../src/api/event_stream";

const TEXT = ': hello\n\nid: 41\nevent: snapshot\ndata: {"seq":41}\n\nid: 42\nevent: diff\ndata: {"seq":42,\ndata: "now":1}\n\n: keep-alive\n\n';
const EVENTS = [
  { id: "41", event: "snapshot", data: '{"seq":41}' },
  { id: "42", event: "diff", data: '{"seq":42,\n"now":1}' },
];

describe("server-sent events", () => {
  it.each([1, 2, 3, 7, 1000])("are the same in pieces of %i characters", (size) => {
    const parser = new EventStreamParser();
    const found = [];
    for (let at = 0; at < TEXT.length; at += size) found.push(...parser.push(TEXT.slice(at, at + size)));
    expect(found).toEqual(EVENTS);
  });

  it.each([1, 2, 5])("may have Windows' line ends, in pieces of %i characters", (size) => {
    const text = TEXT.replaceAll("\n", "\r\n");
    const parser = new EventStreamParser();
    const found = [];
    for (let at = 0; at < text.length; at += size) found.push(...parser.push(text.slice(at, at + size)));
    expect(found).toEqual(EVENTS);
  });

  it("are not given before their blank line", () => {
    const parser = new EventStreamParser();
    expect(parser.push("data: 1\n")).toEqual([]);
    expect(parser.push("\n")).toEqual([{ id: "", event: "message", data: "1" }]);
  });
});
