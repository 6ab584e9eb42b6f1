// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { link, parseRoute, takeToken } from "../src/route";

describe("places in the address", () => {
  it("come back as they were written, whatever characters names have", () => {
    const path = ["pod", "default", "a/b ?#%ü"];
    const query = { attempt: "2", text: "x&y=z#1" };
    expect(parseRoute(link(path, query))).toEqual({ path, query });
  });

  it("begin with the cluster", () => {
    expect(parseRoute("").path).toEqual(["cluster"]);
    expect(parseRoute("#/").path).toEqual(["cluster"]);
  });

  it("leave out what is empty", () => {
    expect(link(["pods"], { node: "", place: null, at: undefined, offset: 0 })).toBe("#/pods?offset=0");
  });

  it("survive a broken escape", () => {
    expect(parseRoute("#/node/%zz").path).toEqual(["node", "%zz"]);
  });
});

describe("a token in the address", () => {
  it("is taken out of it", () => {
    expect(takeToken("#token=abc%2Bd")).toEqual({ token: "abc+d", rest: "#/cluster" });
  });

  it("may be followed by a place", () => {
    expect(takeToken("#token=t&/pod/default/web-0?tab=matrix")).toEqual({ token: "t", rest: "#/pod/default/web-0?tab=matrix" });
  });

  it("is not looked for elsewhere", () => {
    expect(takeToken("#/pods?text=token=1")).toEqual({ token: null, rest: "#/pods?text=token=1" });
  });
});
