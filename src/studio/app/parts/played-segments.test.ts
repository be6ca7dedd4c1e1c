import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type PlayedSegment, takeEvent } from "./played-segments.ts";

function played(...events: Parameters<typeof takeEvent>[1][]) {
  const segments: PlayedSegment[] = [];
  for (const event of events) takeEvent(segments, event);
  return segments.map(({ tag, text, by }) => [tag, text, by]);
}

describe("a chain that is being played", () => {
  it("grows by pieces, with what tools return between them", () => {
    const call = { tool: "web_search", input: "Ada", output: "Ada lives in Lyon.", ok: true, ms: 3 };
    assert.deepEqual(
      played(
        { type: "role-start", role: "think" },
        { type: "role-delta", text: "look " },
        { type: "role-delta", text: "her up" },
        { type: "role-end" },
        { type: "tool", ...call },
        { type: "role-start", role: "think" },
        { type: "role-delta", text: "so" },
      ),
      [
        ["think", "look her up", "model"],
        ["observation", "Ada lives in Lyon.", "tool"],
        ["think", "so", "model"],
      ],
    );
  });

  it("has its answer once, whether it came in pieces, whole, or both", () => {
    const pieces = [{ type: "answer-delta", text: "Ly" } as const, { type: "answer-delta", text: "on" } as const];
    const whole = { type: "answer", text: "Lyon" } as const;
    for (const events of [pieces, [whole], [...pieces, whole]])
      assert.deepEqual(played(...events), [["answer", "Lyon", "model"]]);
  });

  it("keeps a piece that no role began out of what a tool returned", () => {
    const call = { tool: "t", input: "", output: "found", ok: true, ms: 1 };
    assert.deepEqual(played({ type: "role-delta", text: "lost" }), []);
    const after = played({ type: "tool", ...call }, { type: "role-delta", text: "more" });
    assert.deepEqual(after[0], ["observation", "found", "tool"]);
  });
});
