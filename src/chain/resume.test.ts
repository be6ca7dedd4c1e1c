import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { byteTokenizer } from "../../test/fixtures/conformance/byte-tokenizer.ts";
import { memoryJournal } from "../../test/fixtures/memory-journal.ts";
import { type ChainRecord, chainRecordSchema } from "../core/chain-record.ts";
import { defineTask } from "../core/task.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { tagNames } from "../language/profile.ts";
import { mhqaProfile } from "../language/profiles.ts";
import { scriptedModel, tableTool } from "../testing/index.ts";
import { runChain } from "./run-chain.ts";
import { runChains } from "./run-chains.ts";

const task = defineTask({ id: "t", question: "q" });
const table = { a: "one", b: "two", c: "three" };
const script = [
  "<think>t</think><wiki_search>a</wiki_search>",
  "<think>t</think><wiki_search>b</wiki_search>",
  "<think>t</think><wiki_search>c</wiki_search>",
  "<think>t</think><answer>done é😀</answer>",
];
/** Says the line that fits what was decoded so far, as a model does, however often it is asked. */
const model = (tokens: boolean) =>
  scriptedModel(({ text }) => script[text.split("</observation>").length - 1]!, {
    tokenizer: tokens ? byteTokenizer(tagNames(mhqaProfile).flatMap((tag) => [`<${tag}>`, `</${tag}>`])) : undefined,
  });

/** What must be equal, whether a run was interrupted or not. */
function comparable({ segments, answer, ending, usage, violations, promptTokens }: Trajectory): unknown {
  const timeless = segments.map(({ call, startedAt: _start, endedAt: _end, ...segment }) => ({
    ...segment,
    call: call && { ...call, ms: 0 },
  }));
  return JSON.parse(
    JSON.stringify({
      segments: timeless,
      answer,
      ending,
      violations,
      promptTokens,
      usage: { ...usage, wallMs: 0, toolMs: 0 },
    }),
  );
}

describe("a resumed chain", () => {
  for (const tokens of [false, true]) {
    it(`continues after any record without repeating model calls or tool calls (${tokens ? "tokens" : "text"})`, async () => {
      const whole = memoryJournal<ChainRecord>();
      const expected = await runChain(task, {
        model: model(tokens),
        tools: [tableTool(table, "wiki_search")],
        profile: mhqaProfile,
        journal: whole,
      });
      assert.equal(expected.answer, "done é😀");
      for (const record of whole.records) chainRecordSchema.parse(record);
      for (let cut = 0; cut <= whole.records.length; cut++) {
        const journal = memoryJournal(structuredClone(whole.records.slice(0, cut)));
        const known = { turns: 0, tools: 0 };
        for (const record of journal.records) {
          if (record.type === "turn") known.turns++;
          if (record.type === "tool") known.tools++;
        }
        const search = tableTool(table, "wiki_search");
        const again = model(tokens);
        const resumed = await runChain(task, { model: again, tools: [search], profile: mhqaProfile, journal });
        assert.deepEqual(comparable(resumed), comparable(expected), `cut after ${cut} records`);
        const finished = cut === whole.records.length;
        assert.equal(again.requests.length, finished ? 0 : 4 - known.turns);
        assert.equal(search.calls.length, finished ? 0 : 3 - known.tools);
        assert.equal(journal.records.length, whole.records.length);
      }
    });
  }

  it("is tried again after an error, and not after an answer", async () => {
    const journal = memoryJournal<ChainRecord>();
    const broken = scriptedModel([script[0]!, new Error("gone")]);
    const options = { tools: [tableTool(table, "wiki_search")], profile: mhqaProfile, journal };
    assert.equal((await runChain(task, { ...options, model: broken })).ending.reason, "error");
    const healed = model(false);
    assert.equal((await runChain(task, { ...options, model: healed })).answer, "done é😀");
    assert.equal(healed.requests.length, 3);
    const idle = model(false);
    const [again] = await Array.fromAsync(runChains([task], { ...options, model: idle }));
    assert.equal(again!.answer, "done é😀");
    assert.equal(idle.requests.length, 0);
  });
});
