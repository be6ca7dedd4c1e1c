import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { importFiles } from "../import-file.ts";
import { refusedForTraining } from "../trainable.ts";

const at = (name: string) => join(import.meta.dirname, "../../../test/fixtures/traces", name);

describe("events of the AI SDK's tracing channel", () => {
  it("are a run with its agents, calls, schemas, usage and answer", async () => {
    const [run, ...others] = await importFiles([at("ai-sdk-7.channel.jsonl")]);
    assert.equal(others.length, 0);
    assert.equal(run?.source, "import:ai-sdk");
    assert.deepEqual(
      run.agents.map(({ name }) => name),
      ["manager", "search_agent", "code_agent", "search_agent"],
    );
    assert.equal(run.steps.length, 10);
    assert.equal(run.usage.completionTokens, 50);
    assert.equal(run.answer, "Answer: 1990, 5953.");
    assert.ok(run.steps.flatMap((step) => step.toolCalls).every(({ result }) => result !== undefined));
    assert.equal(run.completeness.toolSchemas, true);
    assert.equal(refusedForTraining(run), null);
  });

  it("lack the last reply of a stream, and the run is refused for that", async () => {
    const [run] = await importFiles([at("ai-sdk-7.channel-streamed.jsonl")]);
    assert.equal(run?.steps.length, 10);
    assert.deepEqual(
      run.steps.filter(({ text }) => text === "").map(({ agentId }) => agentId),
      ["agent-2", "agent-3", "agent-4", "agent-1"],
    );
    assert.match(refusedForTraining(run) ?? "", /no-content/);
  });
});
