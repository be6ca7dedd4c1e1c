import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { promisify } from "node:util";
import type { TeamRun } from "../../src/core/team-run.ts";
import { startCollector } from "../../src/record/collector/start-collector.ts";
import { startProxy } from "../../src/record/proxy/start-proxy.ts";
import { readRecordings } from "../../src/record/recordings.ts";
import { refusedForTraining } from "../../src/record/trainable.ts";
import { startScriptedServer } from "./scripted-server.ts";

const here = import.meta.dirname;
const installed = existsSync(join(here, "node_modules"));
const skip = installed ? false : "install the frameworks first: npm install --prefix test/frameworks";
const apps = ["ai-sdk-app.mjs", "openai-agents-app.mjs"];
const register = join(here, "../../src/record/register.ts");
const secret = "sk-live-test-0123456789abcdef";

const root = await mkdtemp(join(tmpdir(), "coa-live-"));
const traces = await startCollector({ folder: join(root, "traces") });
after(async () => {
  await traces.close();
  await rm(root, { recursive: true, force: true });
});
let folders = 0;

async function runApp(
  app: string,
  args: string[],
  env: Record<string, string>,
  nodeArgs: string[] = [],
): Promise<string[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [...nodeArgs, join(here, app), ...args], {
    env: {
      ...process.env,
      OPENAI_API_KEY: secret,
      TRACES_URL: `${traces.url}/v1/traces/ingest`,
      NODE_ENV: "production",
      ...env,
    },
  });
  return JSON.parse(stdout.trim().split("\n").at(-1)!) as string[];
}

function checkRun(run: TeamRun): void {
  assert.deepEqual(
    run.agents.map(({ name }) => name),
    ["manager", "search_agent", "code_agent", "search_agent"],
  );
  assert.equal(run.steps.length, 10);
  assert.equal(run.answer, "Answer: 1990, 5953.");
  assert.equal(run.question, "When was the telescope launched, and what is that year times 3 minus 17?");
  assert.equal(refusedForTraining(run), null);
  const { inferred: _inferred, ...completeness } = run.completeness;
  assert.deepEqual(completeness, {
    toolSchemas: true,
    toolCallIds: true,
    content: true,
    truncated: false,
    notes: [],
  });
  const calls = run.steps.flatMap((step) => step.toolCalls);
  assert.deepEqual(
    calls.map(({ name, result, delegatesTo }) => [name, result, delegatesTo]).sort(),
    [
      ["search_agent", "It was launched in 1990 (example.org).", "agent-2"],
      ["web_search", "Result for telescope launch year: launched in 1990. example.org", undefined],
      ["code_agent", "The result is 5953.", "agent-3"],
      ["run_code", "5953", undefined],
      ["search_agent", "It was launched in 1990 (example.org).", "agent-4"],
      ["web_search", "Result for telescope launch year: launched in 1990. example.org", undefined],
    ].sort(),
  );
  // The scripted server charges ten tokens for each message and five for each reply.
  assert.equal(
    run.usage.promptTokens,
    run.steps.reduce((sum, step) => sum + step.input.length * 10, 0),
  );
  assert.equal(run.usage.completionTokens, 50);
}

describe("live apps, unchanged", { skip, concurrency: 1 }, () => {
  for (const app of apps) {
    for (const streaming of [false, true]) {
      const args = streaming ? ["--stream"] : [];
      const how = streaming ? "streaming" : "not streaming";

      it(`${app}, ${how}: complete runs through the proxy`, async () => {
        const server = await startScriptedServer();
        const folder = join(root, `f${folders++}`);
        const proxy = await startProxy({ to: server.url, folder });
        try {
          assert.deepEqual(await runApp(app, args, { OPENAI_BASE_URL: proxy.url }), ["Answer: 1990, 5953."]);
        } finally {
          await proxy.close();
          await server.close();
        }
        const runs = await readRecordings(folder);
        assert.equal(runs.length, 1);
        checkRun(runs[0]!);
      });

      it(`${app}, ${how}: four tasks at once in one process, kept apart by the preload`, async () => {
        const server = await startScriptedServer();
        const folder = join(root, `f${folders++}`);
        try {
          const env = { OPENAI_BASE_URL: server.url, COA_RECORD_DIR: folder };
          const answers = await runApp(app, [...args, "4"], env, ["--import", register]);
          assert.equal(answers.length, 4);
        } finally {
          await server.close();
        }
        const runs = await readRecordings(folder);
        assert.equal(runs.length, 4);
        assert.equal(new Set(runs.map((run) => run.id)).size, 4);
        for (const run of runs) {
          checkRun(run);
          assert.equal(run.source, "preload");
        }
      });
    }

    it(`${app}: four identical tasks at the same time through the proxy, kept apart by run id`, async () => {
      const server = await startScriptedServer();
      const folder = join(root, `f${folders++}`);
      const proxy = await startProxy({ to: server.url, folder });
      try {
        const names = ["one", "two", "three", "four"];
        await Promise.all(names.map((name) => runApp(app, ["--stream"], { OPENAI_BASE_URL: proxy.urlOf(name) })));
      } finally {
        await proxy.close();
        await server.close();
      }
      const runs = await readRecordings(folder);
      assert.deepEqual(runs.map((run) => run.id).sort(), ["four", "one", "three", "two"]);
      runs.forEach(checkRun);
    });
  }

  for (const streaming of [false, true]) {
    it(`records OpenAI Agents on the Responses API, ${streaming ? "" : "not "}streaming, through proxy and preload`, async () => {
      const server = await startScriptedServer();
      const folder = join(root, `f${folders++}`);
      const inside = join(root, `f${folders++}`);
      const proxy = await startProxy({ to: server.url, folder });
      const args = ["--responses", ...(streaming ? ["--stream"] : [])];
      try {
        const env = { OPENAI_BASE_URL: proxy.url, COA_RECORD_DIR: inside };
        await runApp("openai-agents-app.mjs", args, env, ["--import", register]);
      } finally {
        await proxy.close();
        await server.close();
      }
      for (const where of [folder, inside]) {
        const runs = await readRecordings(where);
        assert.equal(runs.length, 1);
        checkRun(runs[0]!);
      }
    });
  }

  it("joins what the collector and the proxy saw of the same OpenAI Agents run", async () => {
    const server = await startScriptedServer();
    const folder = join(root, `f${folders++}`);
    const proxy = await startProxy({ to: server.url, folder });
    const collector = await startCollector({ folder });
    try {
      const env = { OPENAI_BASE_URL: proxy.url, TRACES_URL: `${collector.url}/v1/traces/ingest` };
      await runApp("openai-agents-app.mjs", ["--stream", "4"], env);
    } finally {
      await collector.close();
      await proxy.close();
      await server.close();
    }
    const runs = await readRecordings(folder);
    assert.equal(runs.length, 4, "four tasks at once, without a run id, told apart by their traces");
    for (const run of runs) {
      checkRun(run);
      assert.equal(run.source, "collector+wire");
    }
  });

  for (const recorder of ["proxy", "preload", "collector"] as const) {
    it(`finds every hand-off of an OpenAI Agents app through the ${recorder}`, async () => {
      const server = await startScriptedServer();
      const folder = join(root, `f${folders++}`);
      const proxy = await startProxy({ to: server.url, folder: recorder === "proxy" ? folder : join(root, "unused") });
      const collector = await startCollector({ folder: recorder === "collector" ? folder : join(root, "unused") });
      const tasks = recorder === "proxy" ? "1" : "3";
      try {
        const env = {
          OPENAI_BASE_URL: proxy.url,
          TRACES_URL: `${collector.url}/v1/traces/ingest`,
          COA_RECORD_DIR: folder,
        };
        await runApp("handoff-app.mjs", [tasks], env, recorder === "preload" ? ["--import", register] : []);
      } finally {
        await collector.close();
        await proxy.close();
        await server.close();
      }
      const runs = await readRecordings(folder);
      assert.equal(runs.length, Number(tasks));
      for (const run of runs) {
        assert.equal(run.topology, "handoff");
        assert.deepEqual(
          run.agents.map(({ name, handoffFrom }) => [name.replace(/^h(?=manager)/, ""), handoffFrom]),
          [
            ["manager", undefined],
            ["search", "agent-1"],
            ["manager", "agent-2"],
            ["code", "agent-3"],
            ["manager", "agent-4"],
          ],
        );
        assert.equal(run.steps.length, 7);
        assert.ok(run.steps.flatMap((step) => step.toolCalls).every(({ result }) => result !== undefined));
        assert.equal(run.answer, "Answer: 1990, 5953.");
        assert.equal(refusedForTraining(run), null);
      }
    });
  }

  it("replays a recorded app without its server", async () => {
    const server = await startScriptedServer();
    const folder = join(root, `f${folders++}`);
    const recorder = await startProxy({ to: server.url, folder });
    await runApp(apps[0]!, ["--stream"], { OPENAI_BASE_URL: recorder.url });
    await recorder.close();
    await server.close();
    const replay = await startProxy({ mode: "replay", folder });
    try {
      assert.deepEqual(await runApp(apps[0]!, ["--stream"], { OPENAI_BASE_URL: replay.url }), ["Answer: 1990, 5953."]);
    } finally {
      await replay.close();
    }
  });
});
