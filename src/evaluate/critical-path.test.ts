import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TeamAgent, TeamStep } from "../core/team-run.ts";
import type { Segment } from "../core/trajectory.ts";
import { chainPath, teamPath } from "./critical-path.ts";

const model = (tag: string, startedAt: number, endedAt: number): Segment => ({
  tag,
  text: "",
  by: "model",
  startedAt,
  endedAt,
});
const result = (ms: number): Segment => ({
  tag: "observation",
  text: "",
  by: "tool",
  call: { tool: "t", input: {}, ok: true, ms },
});

describe("the critical path", () => {
  it("of a chain counts turns, and the slowest call of each turn once", () => {
    const segments = [
      model("think", 0, 10),
      model("web_search", 10, 20),
      model("web_search", 20, 30),
      result(100),
      result(40),
      model("code", 130, 140),
      result(7),
      model("answer", 150, 153),
    ];
    assert.deepEqual(chainPath({ segments }), { rounds: 3, ms: 30 + 100 + 10 + 7 + 3 });
    assert.deepEqual(chainPath({ segments: [] }), { rounds: 0, ms: 0 });
  });

  const step = (
    id: string,
    agentId: string,
    at: number,
    ms: number,
    toolCalls: TeamStep["toolCalls"] = [],
  ): TeamStep => ({
    id,
    agentId,
    input: [],
    text: "",
    toolCalls,
    promptTokens: 1,
    completionTokens: 1,
    startedAt: at,
    endedAt: at + ms,
  });
  const agent = (id: string, parentCallId?: string): TeamAgent => ({
    id,
    name: id,
    ...(parentCallId && { parentCallId }),
  });
  const call = (id: string, more = {}) => ({ id, name: id, arguments: "{}", ...more });

  it("of a team follows the longest of the agents that were activated at once", () => {
    const agents = [agent("m"), agent("a", "ca"), agent("b", "cb"), agent("v")];
    const steps = [
      step("1", "m", 0, 10, [call("ca", { delegatesTo: "a" }), call("cb")]),
      step("2", "a", 10, 5, [call("s", { startedAt: 15, endedAt: 65 })]),
      step("3", "b", 10, 30, [call("x", { startedAt: 40, endedAt: 41 }), call("y", { startedAt: 40, endedAt: 60 })]),
      step("4", "a", 65, 5),
      step("5", "m", 70, 10),
      step("6", "v", 80, 4),
    ];
    // m, then a (5 + 50 + 5) rather than b (30 + 20), m again, then the verifier whom the rules called.
    assert.deepEqual(teamPath({ agents, steps }), { rounds: 1 + 2 + 1 + 1, ms: 10 + 60 + 10 + 4 });
  });

  it("ends where a broken recording names agents in a circle", () => {
    const agents = [agent("m"), agent("a", "c1"), agent("b", "c2")];
    const steps = [
      step("1", "m", 0, 1, [call("c1")]),
      step("2", "a", 1, 1, [call("c2")]),
      step("3", "b", 2, 1, [call("c3", { delegatesTo: "a" })]),
    ];
    assert.equal(teamPath({ agents, steps }).rounds, 3);
  });
});
