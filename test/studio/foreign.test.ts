/** Runs of other people's systems, imported from their traces, are shown like our own: agents, steps, clock and tokens. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { importFiles } from "../../src/record/import-file.ts";
import { type BesideView, readBeside } from "../../src/studio/api/beside-reader.ts";
import { openStudioContext } from "../../src/studio/api/serve-studio.ts";

const traces = ["ai-sdk-7.genai.otlp.json", "langgraph.openinference.otlp.json", "mastra.otlp.json", "wire.oai.jsonl"];

describe("foreign traces in the studio", () => {
  it("have agents, steps on one clock, and tokens that add up", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-studio-"));
    for (const name of traces) {
      const runs = await importFiles([join(import.meta.dirname, "..", "fixtures", "traces", name)]);
      await writeFile(join(folder, `${name}.jsonl`), runs.map((run) => `${JSON.stringify(run)}\n`).join(""));
    }
    const context = await openStudioContext({ paths: [folder], home: folder });
    try {
      await context.catalog.ready();
      const { rows, total } = context.items.page({ kind: "run" }, { by: "order", down: false }, 0, 500);
      assert.ok(total >= traces.length, `${total} runs`);
      for (const { key, file } of rows) {
        const { run, problems } = (await readBeside(
          new URLSearchParams({ run: key, in: file }),
          context,
        )) as BesideView;
        assert.deepEqual(problems, [], file);
        const agents = new Set(run!.agents.map(({ id }) => id));
        for (const { agent, start, end, tokens } of run!.steps) {
          assert.ok(agents.has(agent), `${file}: ${agent}`);
          if (start !== undefined && end !== undefined) assert.ok(start >= 0 && end >= start, file);
          assert.ok(tokens.reread + tokens.retold <= tokens.prompt, file);
        }
      }
    } finally {
      await context.close();
      await rm(folder, { recursive: true });
    }
  });
});
