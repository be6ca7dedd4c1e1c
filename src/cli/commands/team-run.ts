import { resolve } from "node:path";
import { claimFile } from "../../base/files/claim-file.ts";
import { jsonlJournal } from "../../base/files/open-jsonl.ts";
import { readAllJsonl, readJsonl } from "../../base/files/read-jsonl.ts";
import { redactSecrets } from "../../base/redact/redact.ts";
import { UsageError } from "../../core/errors.ts";
import { type Task, taskSchema } from "../../core/task.ts";
import { type TeamRun, teamRunSchema } from "../../core/team-run.ts";
import { taskGrader } from "../../graders/grade-task.ts";
import { scriptedSpecialists } from "../../lab/scripted-specialists.ts";
import { runTeams, type TeamsOptions } from "../../team/run-teams.ts";
import { defineCommand, numberOf, oneInputFile } from "../command.ts";
import { choiceOf } from "../flag-values.ts";
import { openTools, toolFlags } from "../open-tools.ts";
import { openLedger, spendingFlags } from "../spending.ts";
import { bestTeamRun } from "./best-team-run.ts";
import { runInLab } from "./team-in-lab.ts";
import { openMemory } from "./team-memory.ts";
import { openPlayers, playerFlags, samePrice } from "./team-players.ts";
import { summariseTeamRuns } from "./team-summary.ts";

const examples = [
  "coa team run tasks.jsonl --scripted --out runs.jsonl",
  "coa team run tasks.jsonl --base-url http://localhost:8000/v1 --model qwen3-32b --role verifier=qwen3-235b --out runs.jsonl",
];

/** What a run of the team depends on. How many at a time and how far to go do not belong to it, nor do tasks added later. */
const deciding = [
  "scripted",
  "imperfect",
  "wide",
  "lab",
  "fast",
  "model",
  "base-url",
  "role",
  "tools",
  "search",
  "docs",
  "index",
  "retrieval",
  "tool",
  "mcp",
  "tool-faults",
  "topology",
  "run-tokens",
  "survey",
  "plan-interval",
  "review-interval",
  "best-of",
  "choose",
  "memory",
  "seed",
  "shard",
] as const;

/** Every n-th task from the i-th on; all of them where no shard is asked for. */
function shardOf(tasks: Task[], shard: string | undefined): Task[] {
  if (shard === undefined) return tasks;
  const [, i, n] = /^(\d+)\/(\d+)$/.exec(shard) ?? [];
  const [first, step] = [Number(i), Number(n)];
  if (!(first >= 1 && first <= step)) throw new UsageError(`--shard takes i/n with i from 1 to n, not "${shard}"`);
  const own = tasks.filter((_, index) => index % step === first - 1);
  if (own.length === 0) throw new UsageError(`--shard ${shard}: ${tasks.length} tasks leave none for it`);
  return own;
}

function claimRuns(values: { out: string } & Record<string, unknown>, file: string, records: number) {
  const configuration = {
    ...Object.fromEntries(deciding.map((name) => [name, values[name]])),
    ...(!values["scripted"] && {
      model: values["model"] ?? process.env["OPENAI_MODEL"],
      "base-url": values["base-url"] ?? process.env["OPENAI_BASE_URL"],
    }),
  };
  return claimFile(
    values.out,
    {
      kind: "team-runs",
      configuration: redactSecrets(configuration) as typeof configuration,
      inputs: [{ role: "tasks", path: resolve(file), records }],
    },
    { hint: { option: "out", value: "<file>" } },
  );
}

export default defineCommand({
  name: "team run",
  summary: "Run a multi-agent team on every task and keep what it did. Started again, it resumes.",
  arguments: "<tasks.jsonl>",
  examples,
  options: {
    out: {
      type: "string",
      valueName: "file",
      describe: "Where runs are appended",
      default: "runs.jsonl",
    },
    scripted: { type: "boolean", default: false, describe: "Scripts play the roles, no LLM; for tasks of the lab" },
    imperfect: { type: "string", valueName: "share", default: "0", describe: "Share of scripted runs that go wrong" },
    wide: { type: "boolean", default: false, describe: "The scripted manager sends several workers at once" },
    lab: { type: "boolean", default: false, describe: "Give the models the tools of the lab, for tasks of the lab" },
    fast: { type: "boolean", default: false, describe: "Lab tools in memory: no HTTP, no sandbox" },
    ...playerFlags,
    ...spendingFlags,
    ...toolFlags,
    topology: { type: "string", default: "agents-as-tools", describe: "agents-as-tools or handoff" },
    concurrency: { type: "string", default: "4", valueName: "n", describe: "Tasks at a time" },
    limit: { type: "string", valueName: "n", describe: "Start at most this many runs" },
    shard: { type: "string", valueName: "i/n", describe: "Only every n-th task, from the i-th on: for n machines" },
    "run-tokens": { type: "string", valueName: "n", describe: "Token budget of one run" },
    "budget-tokens": {
      type: "string",
      valueName: "n",
      describe: "Start no further run once all have used this many tokens",
    },
    survey: { type: "boolean", default: false, describe: "Survey the facts before the plan" },
    "plan-interval": { type: "string", default: "0", valueName: "n", describe: "Renew the plan after n delegations" },
    "review-interval": { type: "string", default: "0", valueName: "n", describe: "Reflect after n delegations" },
    "best-of": {
      type: "string",
      default: "1",
      valueName: "n",
      describe: "Run each task n times, a judge picks the best",
    },
    choose: { type: "string", default: "list-wise", describe: "How the judge picks: list-wise or scored" },
    memory: { type: "string", valueName: "file", describe: "Steps of earlier runs, recalled and added to" },
    "retry-errors": { type: "boolean", default: false, describe: "Run again what ended in a model's error" },
    seed: { type: "string", default: "0", valueName: "n", describe: "Passed to the models; chooses imperfect runs" },
  },
  async run({ values, positionals, out, signal }) {
    const file = oneInputFile(this, positionals, "a file of tasks");
    const all = (await readAllJsonl(file, taskSchema as never, { signal })) as Task[];
    if (all.length === 0) throw new UsageError(`no tasks in ${file}`);
    const tasks = shardOf(all, values.shard);
    const topology = choiceOf(values.topology, "topology", ["agents-as-tools", "handoff"]);
    const whole = (value: string | undefined, name: string) => numberOf(value, name, { min: 0, integer: true });
    const seed = whole(values.seed, "seed");
    if (values.choose !== "list-wise" && values.choose !== "scored") {
      throw new UsageError(`--choose takes list-wise or scored, not "${values.choose}"`);
    }
    const n = numberOf(values["best-of"], "best-of", { min: 1, integer: true })!;
    if (n > 1 && values.scripted) throw new UsageError("--best-of needs a model that judges: leave --scripted out");
    const ledger = await openLedger(values);
    const players = values.scripted ? null : openPlayers(values, ledger);
    const tools = players && !values.lab ? await openTools(values, { signal }) : null;
    const journal = await jsonlJournal<TeamRun>(values.out, teamRunSchema as never);
    const memory = values.memory === undefined ? undefined : await openMemory(values.memory);
    const claimed = await claimRuns(values, file, tasks.length).catch(async (error: unknown) => {
      await Promise.all([journal.close(), memory?.close(), tools?.close(), players?.close()]);
      throw error;
    });
    const common = {
      topology,
      concurrency: numberOf(values.concurrency, "concurrency", { min: 1, integer: true }),
      journal,
      retryErrors: values["retry-errors"],
      budget: { tokens: whole(values["run-tokens"], "run-tokens") },
      totalBudget: { tokens: whole(values["budget-tokens"], "budget-tokens"), runs: whole(values.limit, "limit") },
      planning: { survey: values.survey, interval: whole(values["plan-interval"], "plan-interval") },
      reviewInterval: whole(values["review-interval"], "review-interval"),
      ...(n > 1 && players && { run: bestTeamRun(n, players.roles, values.choose) }),
      memory: memory?.memory,
      seed,
      ...(ledger.price && { prices: samePrice(ledger.price) }),
      signal,
      onProgress: out.progress,
    } satisfies Omit<TeamsOptions, "roles" | "tools">;
    let how: string;
    try {
      if (players && tools) {
        for await (const _ of runTeams(tasks, { ...common, roles: players.roles, tools: tools.tools }));
        how = `models behind an API; code ran in: ${tools.states.find(({ name }) => name === "code")?.detail ?? "no sandbox"}`;
      } else if (players) {
        how = `models behind an API; ${await runInLab(tasks, { ...common, roles: players.roles }, values.fast, values["tool-faults"])}`;
      } else {
        const imperfect = numberOf(values.imperfect, "imperfect", { min: 0, max: 1 });
        const roles = scriptedSpecialists({ imperfect, seed, wide: values.wide });
        how = `scripted specialists, no LLM; ${await runInLab(tasks, { ...common, roles }, values.fast, values["tool-faults"])}`;
      }
    } finally {
      await journal.close();
      await memory?.close();
      await tools?.close();
      await players?.close();
      await ledger.close();
    }
    out.endProgress();
    const { text, ...summary } = await summariseTeamRuns(
      readJsonl(values.out, teamRunSchema as never),
      tasks,
      taskGrader(),
    );
    const finished = summary.runs >= tasks.length;
    await claimed.report({
      state: finished ? "done" : "running",
      done: summary.runs,
      total: tasks.length,
      figures: { ...(summary.solvedShare !== null && { solved: summary.solvedShare }) },
    });
    if (values.json) out.json({ file: values.out, how, topology: values.topology, ...summary });
    else {
      out.print(`${text}\n${values.topology}; ${how}\nruns in ${values.out}`);
      out.note(`next: coa distill run ${values.out} --tasks ${file} --out .coa/distilled/mine`);
    }
    return 0;
  },
});
