import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { withServer } from "../../test/fixtures/serve-server.ts";
import { startCollector } from "../record/collector/start-collector.ts";
import { readRecordings } from "../record/recordings.ts";
import { openSpanExporter } from "./otel-exporter.ts";
import { chainSpans } from "./otel-spans.ts";

describe("spans of served chains", () => {
  it("are read back by our own collector as the run they came from", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-otel-"));
    const collector = await startCollector({ folder });
    const problems: string[] = [];
    const exporter = openSpanExporter({
      url: new URL(collector.url).origin,
      content: true,
      name: "research",
      onProblem: (text) => problems.push(text),
    });
    try {
      await withServer({ onTrajectory: (trajectory) => exporter.add(trajectory) }, async (ask) => {
        const messages = [{ role: "user", content: "Where does Ada live?" }];
        assert.equal((await ask("/v1/chat/completions", { messages })).status, 200);
      });
      await exporter.close();
      await collector.close();
      assert.deepEqual(problems, []);
      const runs = await readRecordings(folder);
      assert.equal(runs.length, 1);
      const [run] = runs;
      assert.equal(run?.answer, "Lyon");
      assert.equal(run?.question, "Where does Ada live?");
      assert.equal(run?.agents.length, 1);
      assert.equal(run?.topology, "single");
      const tools = JSON.stringify(run?.steps);
      assert.match(tools, /wiki_search/);
      assert.match(tools, /Ada lives in Lyon/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("carry no content unless asked to, and one trace for one chain", async () => {
    await withServer(
      {
        onTrajectory(trajectory) {
          const text = JSON.stringify(chainSpans(trajectory));
          assert.doesNotMatch(text, /Ada|Lyon/);
          assert.equal(new Set(text.match(/"traceId":"[0-9a-f]{32}"/g)).size, 1);
        },
      },
      async (ask) => {
        const messages = [{ role: "user", content: "Where does Ada live?" }];
        assert.equal((await ask("/v1/chat/completions", { messages })).status, 200);
      },
    );
  });

  it("that can't be sent are told, and change nothing for the caller", async () => {
    const problems: string[] = [];
    const exporter = openSpanExporter({ url: "http://127.0.0.1:9", onProblem: (text) => problems.push(text) });
    await withServer({ onTrajectory: (trajectory) => exporter.add(trajectory) }, async (ask) => {
      const messages = [{ role: "user", content: "Where does Ada live?" }];
      assert.equal((await ask("/v1/chat/completions", { messages })).status, 200);
    });
    await exporter.close();
    assert.match(problems[0] ?? "", /1 chains not sent/);
  });
});
