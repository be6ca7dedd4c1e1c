/**
 * Runs an app unchanged, one task and four at once, streaming and not, delegating in turn and in parallel, through proxy
 * and preload. Calls, links, names, usage and answers must equal the truth, or the run must say that they may not. What
 * came out stands in `results.json`, from which the guide's table is made.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { promisify } from "node:util";
import type { TeamRun } from "../../src/core/team-run.ts";
import { callFlow } from "../../src/record/call-flow.ts";
import { readCallLogs } from "../../src/record/call-log.ts";
import { startProxy } from "../../src/record/proxy/start-proxy.ts";
import { readRecordings } from "../../src/record/recordings.ts";
import { refusedForTraining } from "../../src/record/trainable.ts";
import { exchangeToCall } from "../../src/record/wire-exchange.ts";
import { checkResult, type Measured } from "./results.ts";
import { type Script, startScriptedServer } from "./scripted-server.ts";
import type { LiveApp } from "./sdk-apps.ts";

const here = import.meta.dirname;
const register = join(here, "../../src/record/register.ts");
const root = await mkdtemp(join(tmpdir(), "coa-sdk-apps-"));
after(() => rm(root, { recursive: true, force: true }));
let folders = 0;
const newFolder = () => join(root, `f${folders++}`);
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
  const answers = JSON.parse(stdout.trim().split("\n").at(-1)!) as string[];
  assert.ok(
    answers.every((one) => one.endsWith("1990, 5953.")),
    JSON.stringify(answers),
  );
}

/** Calls, links, names, usage and answer equal the truth. */
function checkRun(run: TeamRun, { parallel = false }: Script): void {
  const workers = parallel ? ["code_agent", "search_agent"] : ["code_agent", "search_agent", "search_agent"];
  assert.match(run.agents[0]!.name, /manager/);
  assert.deepEqual(
    run.agents
      .slice(1)
      .map(({ name }) => name)
      .sort(),
    workers,
  );
  assert.equal(run.steps.length, parallel ? 6 : 10);
  assert.equal(run.answer, answer);
  assert.match(run.question, /^(?:Task: )?When was the telescope launched/);
  const calls = run.steps.flatMap((step) => step.toolCalls);
  assert.ok(calls.every(({ result }) => result !== undefined));
  for (const agent of run.agents.slice(1)) {
    const call = calls.find(({ id }) => id === agent.parentCallId);
    assert.equal(call?.delegatesTo, agent.id);
    assert.ok(call?.result?.includes(agent.report ?? "(no report)"), `${call?.result} is not ${agent.report}`);
    assert.ok(`${call?.name} ${call?.arguments}`.includes(agent.name));
  }
  assert.equal(run.usage.completionTokens, run.steps.length * 5);
  assert.equal(
    run.usage.promptTokens,
    run.steps.reduce((sum, step) => sum + step.input.length * 10, 0),
  );
  assert.equal(refusedForTraining(run), null);
}

/** All runs are right, and what of them is known; a run that is wrong must say that it may be. */
async function measure(folder: string, count: number, script: Script): Promise<Measured> {
  const runs = await readRecordings(folder);
  const sum = runs.reduce((all, run) => all + run.steps.length, 0);
  assert.equal(sum, count * (script.parallel ? 6 : 10), "no call is lost");
  const trusted = runs.filter((run) => refusedForTraining(run) === null);
  for (const run of trusted) checkRun(run, script);
  if (trusted.length < count) return "refused";
  assert.equal(runs.length, count);
  const inferred = new Set(runs.flatMap((run) => run.completeness.inferred ?? []));
  if (inferred.size === 0) return "known";
  return inferred.has("run") ? "inferred" : "links inferred";
}

/** By numbered replies: the call before each worker's first call, as the program's flow tells it, is the one that read its report. */
async function checkFlow(folder: string): Promise<void> {
  const calls = (await Array.fromAsync(readCallLogs(folder))).flatMap((exchange) => exchangeToCall(exchange) ?? []);
  if (calls.every(({ agent }) => agent)) return; // the framework itself told who called whom
  const flow = callFlow(calls);
  const byId = new Map(calls.map((call) => [call.id, call]));
  let followed = 0;
  for (const call of calls.filter((one) => one.messages.at(-1)?.role === "tool")) {
    for (const { content, toolCallId } of call.messages.filter(({ role }) => role === "tool")) {
      const writer = calls.find(
        (one) => one.toolCalls.length === 0 && / \(\d+\)$/.test(one.text) && content.endsWith(one.text),
      );
      if (!writer || toolCallId === undefined) continue;
      const before = [...flow(writer)].map((id) => byId.get(id)!);
      const asker = before.find((one) => one.tools.some(({ name }) => name === "search_agent" || name === "task"));
      assert.ok(asker, "the flow knows the manager");
      assert.ok(asker.toolCalls.some(({ id }) => id === toolCallId));
      followed++;
    }
  }
  assert.ok(followed > 0);
}

/** The tests of these apps, or few of them; each is skipped by name where its package is not installed. */
export function testLiveApps(apps: readonly LiveApp[], { short = false } = {}): void {
  for (const app of apps) {
    const installed = existsSync(join(here, "node_modules", app.needs));
    const skip = installed ? false : `${app.needs} is not installed: npm install --prefix test/frameworks`;
    for (const streaming of short ? [true] : [false, true]) {
      const args = streaming ? ["--stream"] : [];
      const how = `${streaming ? "" : "not "}streaming`;
      it(`${app.name}, ${how}: one run through proxy and preload`, { skip }, async () => {
        const server = await startScriptedServer();
        const [outside, inside] = [newFolder(), newFolder()];
        const proxy = await startProxy({ to: server.origin, folder: outside });
        try {
          await runApp(app, args, proxy.origin, { COA_RECORD_DIR: inside }, ["--import", register]);
        } finally {
          await proxy.close();
          await server.close();
        }
        checkResult(app, "proxy, one task", await measure(outside, 1, {}));
        checkResult(app, "preload, one task", await measure(inside, 1, {}));
      });

      it(`${app.name}, ${how}: four tasks at once, with workers in parallel, through proxy and preload`, {
        skip,
      }, async () => {
        const script = { parallel: !app.oneCallAtATime };
        const server = await startScriptedServer(script);
        const [outside, inside, mixed] = [newFolder(), newFolder(), newFolder()];
        const proxy = await startProxy({ to: server.origin, folder: outside });
        const plain = await startProxy({ to: server.origin, folder: mixed });
        try {
          const origins = ["one", "two", "three", "four"].map((name) => proxy.urlOf(name).replace(/\/v1$/, ""));
          await Promise.all(origins.map((origin) => runApp(app, args, origin, {})));
          await runApp(app, ["4", ...args], plain.origin, { COA_RECORD_DIR: inside }, ["--import", register]);
        } finally {
          await proxy.close();
          await plain.close();
          await server.close();
        }
        checkResult(app, "proxy, four tasks with run ids", await measure(outside, 4, script));
        checkResult(app, "preload, four tasks at once", await measure(inside, 4, script));
        // Identical tasks that nobody told apart: each run is right, or says why it must not be trained on.
        await measure(mixed, 4, script);
      });
    }

    if (short) continue;
    it(`${app.name}: four identical tasks at once, each reply numbered, are known by the program's flow`, {
      skip,
    }, async () => {
      const server = await startScriptedServer({ numbered: true });
      const inside = newFolder();
      try {
        await runApp(app, ["4", "--stream"], server.origin, { COA_RECORD_DIR: inside }, ["--import", register]);
      } finally {
        await server.close();
      }
      checkResult(app, "preload, four tasks at once", await measure(inside, 4, {}));
      if (!/Ollama|Gemini/.test(app.api)) await checkFlow(inside); // those have no ids for tool calls
    });
  }
}
