/** Runs an app unchanged, single and four at once, streaming and not, through proxy and preload, and checks its runs. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { promisify } from "node:util";
import type { TeamRun } from "../../src/core/team-run.ts";
import { startProxy } from "../../src/record/proxy/start-proxy.ts";
import { readRecordings } from "../../src/record/recordings.ts";
import { refusedForTraining } from "../../src/record/trainable.ts";
import { startScriptedServer } from "./scripted-server.ts";
import type { LiveApp } from "./sdk-apps.ts";

const here = import.meta.dirname;
const register = join(here, "../../src/record/register.ts");
const root = await mkdtemp(join(tmpdir(), "coa-sdk-apps-"));
after(() => rm(root, { recursive: true, force: true }));
let folders = 0;
const answer = "Answer: 1990, 5953.";

async function runApp(
  app: LiveApp,
  args: string[],
  origin: string,
  env: Record<string, string>,
  nodeArgs: string[] = [],
) {
  const { stdout } = await promisify(execFile)(process.execPath, [...nodeArgs, join(here, app.file), ...args], {
    env: {
      ...process.env,
      OPENAI_API_KEY: "sk-live-test-0123456789abcdef",
      OPENAI_BASE_URL: `${origin}/v1`,
      BASE_ORIGIN: origin,
      OPENAI_AGENTS_DISABLE_TRACING: "0",
      TRACES_URL: `${origin}/v1/traces/ingest`,
      NODE_ENV: "production",
      ...env,
    },
  });
  return JSON.parse(stdout.trim().split("\n").at(-1)!) as string[];
}

/** Calls, links, names, usage and answer equal the truth; what differs is said in the run. */
function checkRun(run: TeamRun | undefined): void {
  assert.ok(run);
  assert.deepEqual(
    run.agents.map(({ name }) => name),
    ["manager", "search_agent", "code_agent", "search_agent"].map((name, index) =>
      index === 0 ? run.agents[0]!.name : name,
    ),
  );
  assert.match(run.agents[0]!.name, /manager/);
  assert.equal(run.steps.length, 10);
  assert.equal(run.answer, answer);
  assert.match(run.question, /^When was the telescope launched/);
  const calls = run.steps.flatMap((step) => step.toolCalls);
  assert.equal(calls.filter(({ delegatesTo }) => delegatesTo !== undefined).length, 3);
  assert.ok(calls.every(({ result }) => result !== undefined));
  assert.equal(run.usage.completionTokens, 50);
  assert.equal(
    run.usage.promptTokens,
    run.steps.reduce((sum, step) => sum + step.input.length * 10, 0),
  );
  assert.equal(refusedForTraining(run), null);
}

/** The tests of these apps; each is skipped by name where its package is not installed. */
export function testLiveApps(apps: readonly LiveApp[]): void {
  for (const app of apps) {
    const installed = existsSync(join(here, "node_modules", app.needs));
    const skip = installed ? false : `${app.needs} is not installed: npm install --prefix test/frameworks`;
    for (const streaming of [false, true]) {
      const args = streaming ? ["--stream"] : [];
      it(`${app.name}, ${streaming ? "" : "not "}streaming: one run through proxy and preload`, { skip }, async () => {
        const server = await startScriptedServer();
        const [outside, inside] = [join(root, `f${folders++}`), join(root, `f${folders++}`)];
        const proxy = await startProxy({ to: server.origin, folder: outside });
        try {
          const env = { COA_RECORD_DIR: inside };
          assert.deepEqual(await runApp(app, args, proxy.origin, env, ["--import", register]), [answer]);
        } finally {
          await proxy.close();
          await server.close();
        }
        for (const folder of [outside, inside]) {
          const runs = await readRecordings(folder);
          assert.equal(runs.length, 1);
          checkRun(runs[0]);
        }
      });
    }

    it(`${app.name}: four tasks at once, kept apart by run id, ${app.preload} by the preload`, { skip }, async () => {
      const server = await startScriptedServer();
      const [outside, inside] = [join(root, `f${folders++}`), join(root, `f${folders++}`)];
      const proxy = await startProxy({ to: server.origin, folder: outside });
      try {
        const names = ["one", "two", "three", "four"];
        const origins = names.map((name) => proxy.urlOf(name).replace(/\/v1$/, ""));
        await Promise.all(origins.map((origin) => runApp(app, [], origin, {})));
        await runApp(app, ["4"], server.origin, { COA_RECORD_DIR: inside }, ["--import", register]);
      } finally {
        await proxy.close();
        await server.close();
      }
      const named = await readRecordings(outside);
      assert.equal(named.length, 4);
      named.forEach(checkRun);
      const runs = await readRecordings(inside);
      assert.equal(
        runs.reduce((sum, run) => sum + run.steps.length, 0),
        40,
        "no call is lost",
      );
      if (app.preload === "known") {
        assert.equal(runs.length, 4);
        runs.forEach(checkRun);
      }
      // Identical tasks that nobody told apart: either the run is right, or it says why it must not be trained on.
      for (const run of runs) if (refusedForTraining(run) === null) checkRun(run);
    });
  }
}
