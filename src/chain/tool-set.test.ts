import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import { defineTask } from "../core/task.ts";
import { multiProfile } from "../language/profiles.ts";
import { scriptedModel } from "../testing/index.ts";
import { runChain } from "./run-chain.ts";
import { toolsByName } from "./tool-set.ts";

const end =
  "<think>t</think><suggested_answer>y</suggested_answer><think>t</think><double_check>The score this time is:4</double_check><answer>y</answer>";

async function observed(call: string, tools: Parameters<typeof toolsByName>[0]): Promise<string> {
  const model = scriptedModel([`<think>t</think>${call}`, end]);
  const trajectory = await runChain(defineTask({ id: "t", question: "q" }), { model, tools, profile: multiProfile });
  assert.equal(trajectory.answer, "y");
  return trajectory.segments.find((segment) => segment.by === "tool")!.text;
}

describe("tools as the AI SDK writes them", () => {
  it("are accepted as they are, whatever their schema is written in", async () => {
    const seen: unknown[] = [];
    const execute = async (
      input: unknown,
      context: { toolCallId: string; abortSignal: AbortSignal; messages: unknown[] },
    ) => {
      seen.push(input);
      assert.match(context.toolCallId, /^\d+:\d+$/);
      assert.ok(context.abortSignal instanceof AbortSignal);
      assert.deepEqual(context.messages, []);
      return { found: 1 };
    };
    const properties = { query: { type: "string" } };
    const jsonSchema = { type: "object", properties, required: ["query"] };
    const standard = {
      "~standard": {
        version: 1,
        vendor: "own",
        validate: (value: unknown) =>
          typeof (value as { query?: unknown })?.query === "string"
            ? { value: value as object }
            : { issues: [{ message: "no query" }] },
        jsonSchema: { input: () => jsonSchema },
      },
    };
    const schemas = [z.object({ query: z.string() }), jsonSchema, { jsonSchema }, standard];
    for (const inputSchema of schemas) {
      const text = await observed("<web_search>rivers</web_search>", {
        web_search: { description: "Search.", inputSchema: inputSchema as never, execute },
      });
      assert.equal(text, '{"found":1}');
      assert.deepEqual(seen.pop(), { query: "rivers" });
    }
  });

  it("are refused at once where they cannot work", () => {
    assert.throws(() => toolsByName({ a: { inputSchema: {} } }), /tool a has no execute function/);
    const tool = { name: "a", description: "", inputSchema: {}, execute: () => 1 };
    assert.throws(() => toolsByName([tool, tool]), /two tools are named a/);
  });
});

describe("several calls in one body", () => {
  it("run side by side and report together", async () => {
    let running = 0;
    let most = 0;
    const crawl = {
      crawl_page: {
        inputSchema: z.object({ url: z.url() }),
        async execute({ url }: { url: string }) {
          most = Math.max(most, ++running);
          await new Promise((resolve) => setImmediate(resolve));
          running--;
          if (url.includes("bad")) throw new Error("HTTP 404");
          return `page ${url}`;
        },
      },
    };
    const text = await observed("<crawl_page>https://a.org | https://bad.org | https://c.org</crawl_page>", crawl);
    assert.equal(text, "[1] page https://a.org\n\n[2] error: crawl_page: HTTP 404\n\n[3] page https://c.org");
    assert.equal(most, 3);
  });
});
