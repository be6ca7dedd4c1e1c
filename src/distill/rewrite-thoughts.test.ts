import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ChatModel, ChatReply } from "../core/model.ts";
import type { Segment, Trajectory } from "../core/trajectory.ts";
import { emptyUsage } from "../core/usage.ts";
import { webProfile } from "../language/profiles.ts";
import { recordJudge } from "./judge-record.ts";
import { modelCheck } from "./model-check.ts";
import { rewriteThoughts, sameButThoughts } from "./rewrite-thoughts.ts";
import { taskIndex } from "./task-index.ts";

const model = (tag: string, text: string): Segment => ({ tag, text: ` ${text}`, by: "model" });
const chain: Trajectory = {
  version: 1,
  id: "t",
  taskId: "q",
  profile: "web",
  model: "team",
  prompt: [{ role: "user", content: "Who wrote the first program?" }],
  segments: [
    model("think", "plan"),
    model("plan", "1. search"),
    model("think", "search it"),
    model("web_search", "first program"),
    {
      tag: "observation",
      text: "Ada Lovelace, 1843",
      by: "tool",
      call: { tool: "web_search", input: { query: "first program" }, ok: true, ms: 3 },
    },
    model("think", "found"),
    model("suggested_answer", "Ada Lovelace"),
    model("think", "check"),
    model("double_check", "The score this time is:4"),
    model("answer", "Ada Lovelace"),
  ],
  answer: "Ada Lovelace",
  ending: { reason: "answered" },
  usage: emptyUsage(),
  violations: [],
};

/** A chat model that says what it is told, and remembers what it was asked. */
function chat(...replies: string[]): ChatModel & { asked: string[] } {
  const asked: string[] = [];
  return {
    name: "editor",
    asked,
    async chat({ messages }): Promise<ChatReply> {
      asked.push(messages.at(-1)!.content);
      const text = replies[Math.min(asked.length, replies.length) - 1]!;
      return { text, toolCalls: [], finish: "stop", usage: { promptTokens: 1, completionTokens: 1 } };
    },
  };
}
const thoughts = (...texts: string[]) => JSON.stringify({ thoughts: texts });

describe("rewriteThoughts", () => {
  it("takes fluent thoughts over and leaves every other byte alone", async () => {
    const editor = chat(
      thoughts(
        "I make a plan first.",
        "I search for the first program.",
        "The page names Ada Lovelace.",
        "The year 1843 fits.",
      ),
    );
    const { trajectory, rewritten, refused } = await rewriteThoughts(chain, { model: editor, profile: webProfile });
    assert.deepEqual([rewritten, refused], [4, []]);
    assert.equal(trajectory.segments[2]?.text, " I search for the first program.");
    assert.ok(sameButThoughts(chain, trajectory, "think"));
    assert.match(editor.asked[0] ?? "", /\[thought 2\] search it/);
  });

  it("refuses thoughts that know the future, carry tags, are empty or too long", async () => {
    const texts = ["I already know it was Ada.", "I will <answer> soon.", "", "word ".repeat(80)];
    const { trajectory, refused } = await rewriteThoughts(chain, {
      model: chat(thoughts(...texts)),
      profile: webProfile,
    });
    assert.deepEqual(
      refused.map(({ segment, reason }) => [segment, reason]),
      [
        [0, 'knows "Ada" before it is found'],
        [2, "contains a tag"],
        [5, "empty"],
        [7, "longer than 60 words"],
      ],
    );
    assert.deepEqual(trajectory, chain);
  });

  it("says so when the reply is not what was asked for", async () => {
    await assert.rejects(rewriteThoughts(chain, { model: chat("sorry"), profile: webProfile }), /no JSON object/);
    await assert.rejects(
      rewriteThoughts(chain, { model: chat(thoughts("one")), profile: webProfile }),
      /another shape: thoughts: .*4/,
    );
  });

  it("is checked from outside: a pass that changes more than thoughts is an error", async () => {
    const config = {
      profile: webProfile,
      ungraded: "keep" as const,
      reflection: { keepWithout: 1 },
      minInteractions: 1,
    };
    const cheat = async (trajectory: Trajectory) => ({ ...trajectory, answer: "Grace Hopper" });
    const outcome = await recordJudge(config, { rewrite: cheat }, taskIndex([]))(JSON.stringify(chain));
    assert.deepEqual([outcome.stage, outcome.problem], ["rewrite", true]);
    const honest = async (trajectory: Trajectory) =>
      (await rewriteThoughts(trajectory, { model: chat(thoughts("a", "b", "c", "d")), profile: webProfile }))
        .trajectory;
    const kept = await recordJudge(config, { rewrite: honest }, taskIndex([]))(JSON.stringify(chain));
    assert.equal(kept.stage, null);
    assert.equal(kept.trajectory?.segments[0]?.text, " a");
  });
});

describe("modelCheck", () => {
  it("drops what the model finds fault with, and asks again when it says nothing readable", async () => {
    assert.equal(await modelCheck(chat('{"complies": true}'))(chain), null);
    assert.equal(await modelCheck(chat('Well. {"complies": false, "problem": "no support"}'))(chain), "no support");
    assert.equal(await modelCheck(chat("hm", '{"complies": true}'))(chain), null);
    await assert.rejects(modelCheck(chat("hm"))(chain), /editor gave no verdict: no JSON object/);
  });
});
