/**
 * Switching over in a world that drifts, by the commands a user types: `coa serve` answers with a cascade beside an old system, and
 * after each round of traffic `coa improve` learns from what that system had to answer. The old system is the lab's scripted team
 * behind an HTTP server; nothing is told which answers are right. Searches time out, which the shipped model has never seen; every
 * round brings new names or moved facts; from the third on the old system's search has another name; and in the last a fifth of the old
 * system's answers is wrong: that one must not be promoted. Started again, it resumes.
 *
 *   node recipes/switch-over.ts [folder] [seed] [requests a round]
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { readAllJsonl } from "../src/base/files/read-jsonl.ts";
import { seededRandom } from "../src/base/work/random.ts";
import { taskGrader } from "../src/graders/index.ts";
import type { Task, TeamRun, Trajectory } from "../src/index.ts";
import { createWorld, scriptedSpecialists, type World, worldTasks } from "../src/lab/index.ts";
import { memoryLabTools } from "../src/lab/memory-lab-tools.ts";
import { lossInterval } from "../src/switch/betting.ts";
import { runTeam } from "../src/team/index.ts";
import { withFaults } from "../src/tools/index.ts";

const [given = ".coa/switch-over", seedText = "1", requestsText = "600"] = process.argv.slice(2);
const [folder, seed, requests] = [resolve(given), Number(seedText), Number(requestsText)];
const maxLoss = "5%";
const families = ["hop1"] as const;
const shipped = fileURLToPath(new URL("../weights/afm-lab-2m", import.meta.url));
const command = [fileURLToPath(new URL("../src/cli/main.ts", import.meta.url))];
const at = (...parts: string[]) => join(folder, ...parts);

interface Round {
  what: string;
  world: { seed: number; variant: number };
  faults: { timeout: number; empty: number };
  renamed?: boolean;
  poisoned?: boolean;
}

const first = 200 + 10 * seed; // worlds that no model was trained in
const place = (number: number, variant = 0) => ({ seed: first + number, variant });
const faults = { timeout: 0.4, empty: 0 };
const rounds: Round[] = [
  { what: "new names", world: place(1), faults },
  { what: "moved facts", world: place(1, 1), faults },
  { what: "new names, the old system's search renamed", world: place(2), faults, renamed: true },
  { what: "new names, searches that also find nothing", world: place(4), faults: { timeout: 0.3, empty: 0.1 }, renamed: true },
  { what: "a fifth of the old system's answers is wrong", world: place(3), faults, renamed: true, poisoned: true },
]; // biome-ignore format: one round a line

const worldOf = ({ world }: Pick<Round, "world">): World => createWorld({ ...world, pages: 600, split: "test" });
const plan = ({ faults: { timeout, empty } }: Pick<Round, "faults">) => `web_search:timeout=${timeout},empty=${empty},seed=${seed}`; // biome-ignore format: one plan
const lab = ({ world }: Round) => ["--lab", `${world.seed}.${world.variant}`];
const lines = (items: readonly unknown[]) => items.map((item) => `${JSON.stringify(item)}\n`).join("");

/** Runs `coa` in the folder; gives its exit code and what it printed. */
async function coa(...args: string[]): Promise<{ code: number; printed: string }> {
  const child = spawn(process.execPath, [...command, ...args], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const printed = child.stdout.toArray();
  const [code] = (await once(child, "exit")) as [number];
  return { code, printed: Buffer.concat(await printed).toString() };
}

/** The team, as it answers a question in the world of a round. */
async function askTeam(
  task: Task,
  { poisoned, renamed, ...round }: Round,
  tools: ReturnType<typeof toolsOf>,
): Promise<TeamRun> {
  const run = await runTeam(task, { roles: scriptedSpecialists({ seed }), tools });
  const random = seededRandom("poison", round.world.seed, task.question);
  const wrong = String(1000 + random.below(8999));
  const answered: TeamRun = poisoned && random.next() < 0.2
    ? { ...run, answer: wrong, steps: run.steps.map((step) => (step.move === "answer" ? { ...step, text: wrong } : step)) }
    : run; // biome-ignore format: one choice
  return renamed ? JSON.parse(JSON.stringify(answered).replaceAll('"web_search"', '"find"')) : answered;
}

const toolsOf = (round: Round) =>
  withFaults(memoryLabTools(worldOf(round)), {
    seed,
    faults: [
      { kind: "timeout", rate: round.faults.timeout, tools: ["web_search"] },
      { kind: "empty", rate: round.faults.empty, tools: ["web_search"] },
    ],
  });

/** The old system behind an OpenAI-compatible address; every run is recorded. */
async function serveTeam(round: Round, runsFile: string): Promise<{ url: string; close(): void }> {
  const tools = toolsOf(round);
  const server = createServer(async (request, reply) => {
    const send = (value: unknown) => reply.setHeader("content-type", "application/json").end(JSON.stringify(value));
    if (request.method === "GET") return send({ data: [{ id: "old-team" }] });
    const { messages } = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const { content: question } = messages.at(-1);
    const run = await askTeam({ version: 1, kind: "qa", id: question, question, answers: [] }, round, tools);
    await appendFile(runsFile, lines([run]));
    const { promptTokens: prompt_tokens, completionTokens: completion_tokens } = run.usage;
    send({
      choices: [{ index: 0, message: { role: "assistant", content: run.answer }, finish_reason: "stop" }],
      usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, close: () => server.close() };
}

/** A round of traffic: questions that were not asked yet, eight at a time, to `coa serve`. */
async function produce(round: Round, tasks: readonly Task[], keptFile: string, runsFile: string): Promise<void> {
  const done = new Set((await readAllJsonl<Trajectory>(keptFile).catch(() => [])).map(questionOf));
  const open = tasks.filter(({ question }) => !done.has(question));
  if (open.length === 0) return;
  const old = await serveTeam(round, runsFile);
  const args = ["serve", "--model", "live", ...lab(round), "--set", `tools.faults=${plan(round)}`, "--fallback", old.url, "--cascade", "--audit", "99.9%", "--keep", keptFile, "--port", "0", "--json"]; // biome-ignore format: one command
  const server = spawn(process.execPath, [...command, ...args], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const [ready] = (await once(createInterface(server.stdout), "line")) as [string];
  const { ready: origin } = JSON.parse(ready);
  const client = async () => {
    for (let task = open.pop(); task; task = open.pop()) {
      const body = JSON.stringify({ messages: [{ role: "user", content: task.question }] });
      const reply = await fetch(`${origin}/v1/chat/completions`, { method: "POST", headers: { "content-type": "application/json" }, body }); // biome-ignore format: one request
      if (!reply.ok) throw new Error(`${reply.status}: ${await reply.text()}`);
      await reply.text();
    }
  };
  await Promise.all(Array.from({ length: 8 }, client));
  server.kill("SIGTERM");
  await once(server, "exit");
  old.close();
}

const questionOf = ({ prompt }: Trajectory) => prompt.findLast(({ role }) => role === "user")!.content;

/** What the callers got in a round, by labels that nothing else here sees. The team is right wherever it is not poisoned. */
async function measure(tasks: readonly Task[], keptFile: string) {
  const byQuestion = new Map(tasks.map((task) => [task.question, task]));
  const grade = taskGrader();
  const counts = { harms: 0, gains: 0, ties: 0 };
  let [asked, right] = [0, 0];
  for (const chain of await readAllJsonl<Trajectory>(keptFile)) {
    const task = byQuestion.get(questionOf(chain))!;
    const model = (await grade(task, chain.answer)).correct === true;
    right += Number(model);
    const old = chain.served?.fallback?.answer;
    if (old !== undefined) asked++;
    counts[old === undefined && !model ? "harms" : "ties"]++;
  }
  const n = counts.harms + counts.ties;
  return { requests: n, escalated: asked / n, model: right / n, loss: lossInterval(counts) };
}

await mkdir(folder, { recursive: true });
if (!existsSync(at("ready"))) {
  // The beginning: the shipped model and the team on the same tasks of the world as it is now, without right answers.
  const start: Round = { what: "the beginning", world: place(0), faults };
  const tasks = worldTasks(worldOf(start), { count: requests, seed, families: [...families] });
  const tools = toolsOf(start);
  const runs: TeamRun[] = [];
  for (const task of tasks) runs.push(await askTeam(task, start, tools));
  await writeFile(at("start.jsonl"), lines(tasks.map((task) => ({ ...task, answers: [] }))));
  await writeFile(at("start-runs.jsonl"), lines(runs));
  const exam = worldTasks(worldOf({ world: place(9) }), { count: 300, seed, families: [...families] });
  const answers = await Promise.all(
    exam.map((task) => askTeam(task, start, memoryLabTools(worldOf({ world: place(9) })))),
  );
  await writeFile(at("exam.jsonl"), lines(exam.map((task, i) => ({ ...task, answers: [answers[i]!.answer] }))));
  await coa("model", "convert", shipped, "model");
  await coa("eval", "run", "start.jsonl", "--model", "model", "--tool-faults", plan(start), "--set", "chain.entropies=true", "--name", "start"); // biome-ignore format: one command
  if ((await coa("cascade", "fit", "start", "start-runs.jsonl", "--max-loss", maxLoss, "--model", "model")).code !== 0) throw new Error("no cascade to begin with"); // biome-ignore format: one command
  await coa("promote", "model");
  await writeFile(at("ready"), "");
}
const curve: unknown[] = [];
for (const [index, round] of rounds.entries()) {
  const number = index + 1;
  const [keptFile, runsFile] = [at(`kept-${number}.jsonl`), at(`runs-${number}.jsonl`)];
  const tasks = worldTasks(worldOf(round), { count: requests, seed: seed + number, families: [...families] });
  const asked = [...new Map(tasks.map((task) => [task.question, task])).values()];
  const decided = at(`decided-${number}.json`);
  if (!existsSync(decided)) {
    await produce(round, asked, keptFile, runsFile);
    const names = round.renamed ? ["--set", "distill.toolTags.find=web_search"] : [];
    const { printed } = await coa("improve", keptFile, runsFile, "--tasks", "exam.jsonl", "--max-loss", maxLoss, "--set", "improve.margin=0.05", ...lab(round), "--set", `tools.faults=${plan(round)}`, ...names, "--json"); // biome-ignore format: one command
    // A round in which the old system was not needed has nothing to learn from, and decides nothing.
    const nothing = { promote: false, reasons: ["nothing to learn from"], exam: null, escalated: null };
    await writeFile(decided, printed.startsWith("nothing to learn from") ? JSON.stringify(nothing) : JSON.stringify(JSON.parse(printed))); // biome-ignore format: one file
  }
  const { promote, reasons, exam, escalated } = JSON.parse(await readFile(decided, "utf8"));
  const measured = await measure(asked, keptFile);
  curve.push({ round: number, what: round.what, ...measured, promoted: promote, reasons, exam, after: escalated });
  console.log(JSON.stringify(curve.at(-1)));
}
await writeFile(at("curve.json"), `${JSON.stringify(curve, null, 2)}\n`);
