/** Scores that people gave a run arrive with its trace, whichever system kept them, and say which answers are right. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { importFiles } from "../src/record/import-file.ts";
import { recordedScore, recordedTasks } from "../src/tasks/recorded-tasks.ts";

let folder = "";
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-feedback-"));
});
after(() => rm(folder, { recursive: true, force: true }));

const time = "2026-01-01T00:00:00Z";
const messages = [
  { role: "user", content: "How warm is Lyon?" },
  { role: "assistant", content: "18" },
];
const files = {
  langsmith: {
    runs: [
      {
        id: "r1",
        trace_id: "r1",
        name: "ChatOpenAI",
        run_type: "llm",
        start_time: time,
        end_time: time,
        inputs: { messages: [messages[0]] },
        outputs: { generations: [[{ text: "18", message: { role: "assistant", content: "18" } }]] },
        feedback_stats: { correctness: { n: 2, avg: 1 } },
      },
    ],
  },
  langfuse: {
    id: "t1",
    scores: [{ name: "thumbs", value: 0 }],
    observations: [
      {
        id: "o1",
        traceId: "t1",
        type: "GENERATION",
        name: "chat",
        startTime: time,
        endTime: time,
        input: [messages[0]],
        output: messages[1],
      },
    ],
  },
  messages: { messages, feedback: [{ score: 1 }, { score: 0.5 }] },
};

describe("feedback in traces", () => {
  it("is kept by the importers and decides what is right", async () => {
    const scores: Record<string, number | undefined> = {};
    for (const [name, value] of Object.entries(files)) {
      const file = join(folder, `${name}.json`);
      await writeFile(file, JSON.stringify(value));
      const runs = await importFiles([file]);
      assert.equal(runs.length, 1, name);
      scores[name] = recordedScore(runs[0]!);
      const { right, wrong } = await recordedTasks(runs, { assumeRight: true });
      assert.deepEqual([right, wrong], name === "langfuse" ? [{}, 1] : [{ feedback: 1 }, 0], name);
    }
    assert.deepEqual(scores, { langsmith: 1, langfuse: 0, messages: 0.75 });
  });
});
