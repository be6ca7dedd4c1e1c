import { resolve } from "node:path";
import { claimFile } from "../../base/files/claim-folder.ts";
import { jsonlJournal } from "../../base/files/open-jsonl.ts";
import { readJsonl } from "../../base/files/read-jsonl.ts";
import { redactSecrets } from "../../base/redact/redact.ts";
import { UsageError } from "../../core/errors.ts";
import type { Grader } from "../../core/grader.ts";
import type { Model } from "../../core/model.ts";
import { defineTask, type Task } from "../../core/task.ts";
import { type TeamRun, teamRunSchema } from "../../core/team-run.ts";
import type { Tool } from "../../core/tool.ts";
import { taskGrader } from "../../graders/grade-task.ts";
import { createWorld } from "../../lab/create-world.ts";
import { labToolsByTask, memoryLabTools } from "../../lab/memory-lab-tools.ts";
import { realLabTools } from "../../lab/real-lab-tools.ts";
import { scriptedSpecialists } from "../../lab/scripted-specialists.ts";
import { worldTasks } from "../../lab/world-tasks.ts";
import { loadTasks } from "../../tasks/benchmarks/load-tasks.ts";
import type { RolePlayer } from "../../team/role.ts";
import { defaultTopology, runTeam, type TeamOptions } from "../../team/run-team.ts";
import { runTeams } from "../../team/run-teams.ts";
import { codeTool } from "../../tools/code.ts";
import { chooseSandbox } from "../../tools/sandbox/choose-sandbox.ts";
import { defineCommand, oneInputFile } from "../command.ts";
import { disturbance, openTools } from "../open-tools.ts";
import { table } from "../output.ts";
import type { Session } from "../session.ts";
import { number, text, toggle, whole } from "../setting.ts";
import { changedSettings, type Settings } from "../settings/index.ts";
import { openLedger } from "../spending.ts";
import { openPlayers } from "./team-players.ts";

type TeamSettings = Settings<"team" | "model" | "tools">;
type TeamValues = Record<"scripted" | "imperfect" | "wide" | "fast" | "seed", unknown> & { out: string };

/** The file belongs to what decides a run: not how many at a time and how far to go, nor tasks added later. */
function claimRuns(
  values: TeamValues,
  topology: string,
  { team, model, tools }: TeamSettings,
  file: string,
  records: number,
) {
  const { scripted, imperfect, wide, fast, seed } = values;
  const configuration = {
    ...{ scripted, imperfect, wide, fast, seed },
    topology,
    team: changedSettings("team", team),
    tools: changedSettings("tools", tools),
    model: scripted
      ? undefined
      : {
          name: model.name ?? process.env["OPENAI_MODEL"],
          baseUrl: model.baseUrl ?? process.env["OPENAI_BASE_URL"],
        },
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
  summary: "Run a multi-agent team on every task and keep what it did. Started again, it resumes.",
  arguments: "<tasks.jsonl>",
  examples: [
    "coa team run tasks.jsonl --scripted --out runs.jsonl",
    "coa team run --check --base-url http://localhost:8000/v1 --model qwen2.5-coder-1.5b",
    "coa team run tasks.jsonl --base-url http://localhost:8000/v1 --model qwen3-32b --role verifier=qwen3-235b --out runs.jsonl",
  ],
  options: {
    out: text("Where runs are appended", { default: "runs.jsonl", valueName: "file", group: "output" }),
    scripted: toggle("Scripts play the roles, no LLM; for tasks of the lab", { group: "model" }),
    imperfect: number("Share of scripted runs that go wrong", { default: 0, min: 0, max: 1, valueName: "share", group: "model" }),
    wide: toggle("The scripted manager sends several workers at once", { group: "model" }),
    fast: toggle("Lab tools in memory: no HTTP, no sandbox", { group: "tools" }),
    concurrency: whole("Max tasks at a time", { default: 4, valueName: "n", group: "limits" }),
    limit: whole("Max runs to start", { min: 0, valueName: "n", group: "limits" }),
    "retry-errors": toggle("Run again what ended in a model's error"),
    check: toggle("Run three known tasks instead and report what the model can't do"),
    seed: whole("Seed for sampling and for choosing imperfect runs", { default: 0, min: 0, valueName: "n", group: "model" }),
  }, // biome-ignore format: one flag a line
  reads: ["team", "model", "tools", "spending"],
  hides: ["temperature"],
  async run({ values, settings, positionals, out, signal, session }) {
    const { team } = settings;
    if (values.check) {
      const roles = openPlayers(settings, session);
      const found = await checkTeam({ roles, topology: team.topology, signal }, session);
      return { json: found, text: describeCheck(found), code: found.problems.length > 0 ? 1 : 0 };
    }
    const file = oneInputFile(positionals, "a file of tasks");
    const tasks = await loadTasks(file, { allowMissingGolds: true, signal });
    if (tasks.length === 0) throw new UsageError(`no tasks in ${file}`);
    const { seed, scripted } = values;
    const ledger = await openLedger(settings.spending, session);
    const roles: Record<string, RolePlayer> = scripted
      ? scriptedSpecialists({ imperfect: values.imperfect, seed, wide: values.wide })
      : openPlayers(settings, session, ledger);
    // A server may have to be asked for the name of its model.
    if (!team.topology && !scripted) await (roles["default"] as Partial<Model>).prepare?.(signal);
    const topology = team.topology ?? defaultTopology({ roles });
    const inLab = scripted || tasks.every(({ world }) => world !== undefined);
    const { fast } = values;
    const outside = inLab ? undefined : await openTools(settings.tools, session);
    const toolsOf = outside
      ? () => outside.tools
      : await openLabTools(tasks, { fast, faults: settings.tools.faults }, session);
    const journal = session.closeAtEnd(await jsonlJournal(values.out, teamRunSchema));
    const claimed = await claimRuns(values, topology, settings, file, tasks.length);
    const runs = runTeams(tasks, {
      roles,
      tools: [],
      run: (task, options) => runTeam(task, { ...options, tools: toolsOf(task) }),
      topology,
      concurrency: values.concurrency,
      journal,
      retryErrors: values["retry-errors"],
      budget: { tokens: team.maxTokens },
      totalBudget: { tokens: team.maxTotalTokens, runs: values.limit },
      seed,
      prices: ledger.price,
      signal,
      onProgress: out.progress,
    });
    for await (const _ of runs);
    const sandbox = outside?.states.find(({ name }) => name === "code")?.detail ?? "no sandbox";
    const where = outside
      ? `code ran in: ${sandbox}`
      : fast
        ? "lab tools in memory"
        : "real index, HTTP on loopback, real sandbox";
    const how = `${scripted ? "scripted specialists, no LLM" : "models behind an API"}; ${where}`;
    const { text, ...summary } = await summariseTeamRuns(readJsonl(values.out, teamRunSchema), tasks, taskGrader());
    const finished = summary.runs >= tasks.length;
    await claimed.report({
      state: finished ? "done" : "running",
      done: summary.runs,
      total: tasks.length,
      figures: { ...(summary.solvedShare !== null && { solved: summary.solvedShare }) },
    });
    return {
      json: { file: values.out, how, topology, ...summary },
      text: `${text}\n${topology}; ${how}\nruns in ${values.out}`,
      notes: [`next: coa distill run ${values.out} --tasks ${file} --out .coa/distilled/mine`],
    };
  },
});

/** Opens the tools of these tasks' worlds: in memory with `fast`, else a real index, HTTP on loopback and a sandbox. */
async function openLabTools(
  tasks: readonly Task[],
  { fast, faults }: { fast: boolean; faults?: string },
  session: Session,
): Promise<(task: Task) => Tool[]> {
  const other = tasks.find(({ world }) => world === undefined);
  if (other)
    throw new UsageError(
      `the lab's tools are for lab tasks only, and ${other.id} is not one; make some with: coa lab tasks`,
    );
  const disturb = disturbance(faults);
  if (fast) return labToolsByTask(undefined, disturb);
  const sandbox = session.closeAtEnd(chooseSandbox({ isolation: "run" }));
  const byWorld = new Map<string, Tool[]>();
  for (const world of tasks.map((task) => task.world!)) {
    const key = JSON.stringify(world);
    if (byWorld.has(key)) continue;
    byWorld.set(key, disturb(session.closeAtEnd(await realLabTools(createWorld(world), sandbox)).tools));
  }
  return (task) => byWorld.get(JSON.stringify(task.world))!;
}

/**
 * The totals of a file of team runs: solved tasks (of those with a gold answer), tokens both ways, calls, new plans. A run without
 * an answer counts as unsolved, a task without a run not at all.
 */
async function summariseTeamRuns(runs: AsyncIterable<TeamRun>, tasks: readonly Task[], grade: Grader) {
  const byTask = new Map(tasks.map((task) => [task.id, task]));
  const counted = new Map<string, TeamRun & { solved: boolean }>();
  for await (const run of runs) {
    const task = byTask.get(run.taskId ?? "");
    if (!task) continue;
    const solved = task.answers.length > 0 && (await grade(task, run.answer)).correct === true;
    counted.set(task.id, { ...run, solved });
  }
  const all = [...counted.values()];
  const gradable = all.filter(({ taskId }) => byTask.get(taskId ?? "")!.answers.length > 0).length;
  const mean = (figure: "modelCalls" | "toolCalls" | "billedTokens" | "computedTokens") =>
    all.reduce((sum, { usage }) => sum + usage[figure], 0) / Math.max(1, all.length);
  const summary = {
    tasks: tasks.length,
    runs: all.length,
    solvedShare: gradable === 0 ? null : all.filter(({ solved }) => solved).length / gradable,
    replannedShare: all.filter(({ replans = 0 }) => replans > 0).length / Math.max(1, all.length),
    perRun: {
      modelCalls: mean("modelCalls"),
      toolCalls: mean("toolCalls"),
      billedTokens: mean("billedTokens"),
      computedTokens: mean("computedTokens"),
    },
    errors: all.filter(({ ending }) => ending.reason === "error").length,
  };
  const percent = (value: number | null) => (value === null ? "not gradable" : `${(100 * value).toFixed(1)} %`);
  const text = table([
    ["tasks", String(summary.tasks)],
    ["runs", String(summary.runs)],
    [all.length < tasks.length ? "solved, of these runs" : "solved, of all tasks", percent(summary.solvedShare)],
    ["made a new plan", percent(summary.replannedShare)],
    ["ended in an error", String(summary.errors)],
    ["model calls per run", summary.perRun.modelCalls.toFixed(1)],
    ["tool calls per run", summary.perRun.toolCalls.toFixed(1)],
    ["tokens per run, billed", summary.perRun.billedTokens.toFixed(0)],
    ["tokens per run, computed", summary.perRun.computedTokens.toFixed(0)],
  ]);
  return { ...summary, text };
}

const rolls = defineTask({
  id: "rolls",
  question: "A baker fills 7 trays with 24 rolls each and sells 95 of them. How many rolls are left?",
  answers: ["73"],
  kind: "math",
});

/** Runs the three tasks, one after the other: what each showed, and what the model can't do (nothing: it can play the team). */
async function checkTeam(options: Pick<TeamOptions, "roles" | "topology" | "signal">, session: Session) {
  const sandbox = session.closeAtEnd(chooseSandbox({ isolation: "run" }));
  const world = createWorld({ seed: 7 });
  const lookUps = worldTasks(world, { count: 2, families: ["hop1", "hop2"] });
  const asked: [Task, Tool[]][] = [
    [rolls, [codeTool({ sandbox })]],
    ...lookUps.map((task): [Task, Tool[]] => [task, memoryLabTools(world).filter(({ name }) => name !== "code")]),
  ];
  const grade = taskGrader();
  const checked = async (task: Task, tools: Tool[]) => {
    const { answer, ending, usage } = await runTeam(task, { ...options, tools, budget: { modelCalls: 40 } });
    const right = (await grade(task, answer)).correct === true;
    const verified = ending.verified === true;
    return { task: task.id, verified, right, toolCalls: usage.toolCalls, answer, tokens: usage.billedTokens };
  };
  const runs: Awaited<ReturnType<typeof checked>>[] = [];
  for (const [task, tools] of asked) runs.push(await checked(task, tools));
  const of = (holds: (run: (typeof runs)[number]) => boolean) => runs.filter(holds).map(({ task }) => task);
  const problems = [
    ["made no tool call", of(({ toolCalls }) => toolCalls === 0)],
    ["gave no answer", of(({ answer }) => answer === null)],
    ["verified a wrong answer", of(({ right, verified }) => verified && !right)],
    ["did not verify a right answer", of(({ right, verified }) => right && !verified)],
    ["answered wrongly", of(({ right, answer }) => !right && answer !== null)],
  ].flatMap(([what, tasks]) => (tasks!.length > 0 ? [`${what}: ${(tasks as string[]).join(", ")}`] : []));
  return { runs, problems };
}

/** The check as lines for a terminal. */
function describeCheck({ runs, problems }: Awaited<ReturnType<typeof checkTeam>>): string {
  const lines = runs.map(
    ({ task, right, toolCalls, answer, tokens }) =>
      `${right ? "right" : "wrong"}  ${task}: ${answer ?? "no answer"} (${toolCalls} tool calls, ${tokens} tokens)`,
  );
  const verdict =
    problems.length === 0 ? ["This model can play the team."] : ["Problems:", ...problems.map((one) => `- ${one}`)];
  return [...lines, ...verdict].join("\n");
}
