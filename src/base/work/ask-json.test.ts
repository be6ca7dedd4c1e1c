import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import type { ChatRequest } from "../../core/model.ts";
import { askForJson } from "./ask-json.ts";

const schema = z.object({ best: z.number() });
const request: ChatRequest = {
  messages: [
    { role: "system", content: "Choose." },
    { role: "user", content: "Which?" },
  ],
};

async function ask(...replies: string[]) {
  const asked: ChatRequest[] = [];
  const result = await askForJson(
    async (one) => {
      asked.push(one);
      return replies[asked.length - 1]!;
    },
    request,
    schema,
  );
  return { result, asked };
}

describe("askForJson", () => {
  it("reads the object in fences, in prose and as models write it", async () => {
    for (const reply of ['{"best": 2}', '```json\n{"best": 2}\n```', "Sure: {'best': 2,} That is all."])
      assert.deepEqual((await ask(reply)).result, { value: { best: 2 } });
  });

  it("asks again with what was wrong, and gives up with the last problem", async () => {
    const { result, asked } = await ask("two", '{"best": "two"}', '{"best": 2}');
    assert.deepEqual(result, { value: { best: 2 } });
    assert.deepEqual(asked[0]!.messages, request.messages);
    assert.match(asked[1]!.messages.at(-1)!.content, /^Which\?\n\nYour last reply could not be used \(no JSON object/);
    assert.match(asked[2]!.messages.at(-1)!.content, /another shape: best: .*\)\. Reply with the JSON object alone\.$/);
    assert.ok(asked.every(({ json }) => json));
    const { result: failed } = await ask("a", "b", "c");
    assert.match((failed as { problem: string }).problem, /^no JSON object/);
  });
});
