/**
 * Experiment 2: from the published logs of a real team to a small student. 2,971 runs of AG2 teams (GPT-4, GPT-4o) on grade-school
 * problems become chains of one program each; a student learns them, or the authors' own programs of MAWPS and ASDiv, and then
 * practises on questions with their answers as the only reward, in a real sandbox. Rejection sampling on the same rollouts, taught
 * for the same processor time, stands beside RL. The logs' seeds are GSM8K test questions: those are left out of the test.
 *
 *   node recipes/real/team-logs.ts --model SmolLM2-135M-Instruct.Q4_1.gguf --data <folder> [--rows two-line,examples,logs,mawps-300,…]
 *
 * `--data`: ag2-team/runs.jsonl.gz (multi-agent-systems-failure-taxonomy/MAST, traces/AG2) and word-problems/*.jsonl (arkilpatel/SVAMP,
 * openai/grade-school-math; MIT), each line with id, question, answer and, where the authors' annotation gives one, program.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { emptyUsage } from "../../src/core/usage.ts";
import { openEmbeddedEngine } from "../../src/engines/index.ts";
import { outcomeReward, taskGrader } from "../../src/graders/index.ts";
import {
  codeProfile,
  defineProfile,
  defineSystem,
  defineTask,
  type Segment,
  type Task,
  type TeamRun,
  type Tool,
  type Trajectory,
  trajectoryText,
} from "../../src/index.ts";
import { engineModel } from "../../src/models/index.ts";
import { importFiles } from "../../src/record/index.ts";
import { chooseSandbox, codeTool } from "../../src/tools/index.ts";
import { chainRollout, saveTrained, trainRl } from "../../src/train/index.ts";
import { against, type Experiment, examine, examineSystem, once, openExperiment, sha256, teach } from "./parts.ts";

interface Problem {
  id: string;
  question: string;
  answer: string;
  program: string | null;
}

/** A program, what it printed, the answer: plans of the logs teach a small student to begin plans, not to end them. */
const profile = defineProfile({
  ...codeProfile,
  name: "program",
  style: { layout: "compact", maxCharacters: 400 },
  start: ["code"],
  tags: codeProfile.tags
    .filter(({ name }) => name === "code" || name === "answer")
    .map((tag) => ({ ...tag, think: "forbidden", next: tag.name === "code" ? ["answer"] : [] })),
  advice: [],
});
const systemPrompt = "Solve it with a program.";
const limits = { maxSteps: 4, maxTokensPerCall: 260, maxCompletionTokens: 320 };
const chain = { profile, systemPrompt, limits };

function problems(data: string, file: string): Problem[] {
  const lines = readFileSync(join(data, "word-problems", file), "utf8")
    .trim()
    .split("\n");
  return lines.map((line) => JSON.parse(line));
}

const taskOf = ({ id, question, answer }: Problem): Task =>
  defineTask({ id, question, answers: [answer], kind: "math" });

/** The chain that answers a question with a program. */
function programChain(question: string, program: string, answer: string, id: string): Trajectory {
  const by = "model" as const;
  const segments: Segment[] = [
    { tag: "code", by, text: `\n\`\`\`py\n${program.trim()}\n\`\`\`\n` },
    { tag: "observation", by: "tool", text: answer },
    { tag: "answer", by, text: ` ${answer}` },
  ];
  const prompt = [
    { role: "system" as const, content: systemPrompt },
    { role: "user" as const, content: question },
  ];
  const ending = { reason: "answered" as const };
  return {
    version: 1,
    id,
    taskId: id,
    profile: profile.name,
    model: "the logs",
    prompt,
    segments,
    answer,
    ending,
    usage: emptyUsage(),
    violations: [],
  };
}

/** Chains of the logs: right runs whose last program printed the answer, two a problem, without what students lack (sympy). */
async function chainsOfLogs(file: string): Promise<Trajectory[]> {
  const perProblem = new Map<string, number>();
  const chains: Trajectory[] = [];
  for (const run of await importFiles([file])) {
    const program = lastProgram(run);
    const count = perProblem.get(run.question ?? "") ?? 0;
    if (!program || count >= 2 || program.code.length > 700 || /sympy|numpy|input\(/.test(program.code)) continue;
    perProblem.set(run.question!, count + 1);
    chains.push(programChain(run.question!, program.code, program.printed, run.id));
  }
  return chains;
}

function lastProgram(run: TeamRun): { code: string; printed: string } | null {
  if (run.feedback?.find(({ name }) => name === "correct")?.score !== 1 || !run.answer) return null;
  const call = run.steps.flatMap(({ toolCalls }) => toolCalls).findLast(({ result }) => result !== undefined);
  const { arguments: code = "", result: printed = "" } = call ?? {};
  return code && Number(printed) === Number(run.answer) ? { code, printed: printed.trim() } : null;
}

/** The sandbox's output alone, as the chains above show it. */
function programTool(sandbox: ReturnType<typeof chooseSandbox>): Tool {
  const tool = codeTool({ sandbox, limits: { wallMs: 10_000 } });
  const printed = (output: string) => /\[STDOUT:BEGIN\]\n?([\s\S]*?)\n?\[STDOUT:END\]/.exec(output)?.[1]?.trim();
  return {
    ...tool,
    execute: async (...call) => printed(String(await tool.execute(...call)))?.slice(-200) || "error",
  };
}

/** The two-line prompt: one program, run once; what it prints is the answer. */
async function twoLine(experiment: Experiment, tasks: readonly Task[], tool: Tool) {
  const engine = await openEmbeddedEngine({ folder: experiment.base, threads: 1 });
  const model = engineModel(await engine.publish(), experiment.tokenizer);
  const system = defineSystem({
    name: "two-line",
    async run(task, { signal }) {
      const content = `${task.question}\nWrite a Python program that prints the number that is asked for.`;
      let text = "";
      let usage = emptyUsage();
      const request = {
        prompt: [{ role: "user" as const, content }],
        text: "",
        stop: [],
        maxTokens: 260,
        temperature: 0,
        signal,
      };
      for await (const event of model.continue(request)) {
        if (event.type === "delta") text += event.text;
        else
          usage = { ...usage, ...event.usage, billedTokens: event.usage.promptTokens + event.usage.completionTokens };
      }
      const context = { signal: signal ?? new AbortController().signal, taskId: task.id };
      const answer = text.includes("```") ? String(await tool.execute({ code: text }, context)) : null;
      return { answer, ending: { reason: answer ? "answered" : "no-answer" }, usage, toolCalls: {}, tokensByRole: {} };
    },
  });
  try {
    return await examineSystem(experiment, "exam/two-line", tasks, system);
  } finally {
    await engine.close();
  }
}

/** RL with answers alone; `keep` gives the right rollouts, for the control. */
function practise(experiment: Experiment, from: string, tasks: readonly Task[], tool: Tool) {
  return once(experiment, "rl", async (folder) => {
    const { tokenizer, seed } = experiment;
    const engine = await openEmbeddedEngine({ folder: from, threads: 1 });
    try {
      const { rollouts, firstReward, lastReward } = await trainRl({
        ...{ engine, tokenizer, tasks, folder: join(folder, "run"), resume: "auto", seed, steps: 20 },
        collect: { groups: 8, samples: 8, maxRounds: 2, concurrency: 64 },
        updates: { passes: 1, perPass: 2, microBatchTokens: 1024 },
        rollout: chainRollout({ ...chain, model: (policy) => engineModel(policy, tokenizer), tools: [tool] }),
        reward: outcomeReward(taskGrader()),
        optimizer: { learningRate: 1e-4, beta1: 0.9, beta2: 0.95, gradientClip: 1 },
        schedule: { decay: "linear", decayShare: 1, floor: 0.1, byGroups: true },
        onProgress: ({ done, total, figures }) =>
          console.log(`rl: step ${done} of ${total}, ${JSON.stringify(figures)}`),
      });
      await saveTrained({ model: join(folder, "model") }, { engine, tokenizer, from, training: { stage: "rl", seed } });
      return { rollouts, reward: [firstReward, lastReward] };
    } finally {
      await engine.close();
    }
  });
}

/** The right rollouts of RL, each once: what rejection sampling learns from. */
function rightRollouts(experiment: Experiment): Trajectory[] {
  const lines = readFileSync(join(experiment.folder, "rl", "run", "rollouts.jsonl"), "utf8")
    .trim()
    .split("\n");
  const seen = new Set<string>();
  return lines.flatMap((line) => {
    const { reward, trajectory } = JSON.parse(line) as { reward: number; trajectory: Trajectory };
    const key = `${trajectory.taskId} ${trajectoryText(trajectory.segments)}`;
    return reward > 0 && !seen.has(key) && seen.add(key) ? [trajectory] : [];
  });
}

export async function teamLogs(argv?: string[]): Promise<void> {
  const experiment = await openExperiment("team-logs", argv);
  const { wants, base, data, tests } = experiment;
  if (!data) throw new Error("--data is missing: the folder with ag2-team and word-problems");
  const logs = join(data, "ag2-team", "runs.jsonl.gz");
  console.log(`${logs}: sha256 ${await sha256(logs)}`);
  const seeds = new Set(
    gunzipSync(readFileSync(logs))
      .toString()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).other_data.seed_question.trim()),
  );
  const easy = problems(data, "mawps-asdiv-train.jsonl").filter(({ program }) => program);
  const test = [
    ...problems(data, "svamp-test.jsonl"),
    ...problems(data, "gsm8k-test.jsonl").filter(({ question }) => !seeds.has(question.trim())),
  ];
  const tasks = test
    .filter(({ id }) => id.startsWith(base.includes("1d9614638d18") ? "gsm8k" : "chal"))
    .slice(0, tests)
    .map(taskOf);
  const sandbox = chooseSandbox({ isolation: "run" });
  const tool = programTool(sandbox);
  const written = easy.map(({ question, program, answer, id }) => programChain(question, program!, answer, id));
  const lessons: Record<string, { chains: readonly Trajectory[]; passes: number }> = {
    "mawps-300": { chains: written.filter((_, index) => index % 10 === 0).slice(0, 300), passes: 3 },
    "mawps-all": { chains: written, passes: 1 },
    logs: { chains: (await chainsOfLogs(logs)).slice(0, 500), passes: 2 },
  };
  const results: Record<string, Awaited<ReturnType<typeof examine>>> = {};
  const taught = (name: string) => join(experiment.folder, name, "model");
  const exam = async (row: string, model: string, more = {}) => {
    results[row] = await examine(experiment, `exam/${row}`, { ...chain, tasks, tools: [tool], model, ...more });
  };
  try {
    if (wants("two-line")) results["two-line"] = await twoLine(experiment, tasks, tool);
    if (wants("examples")) {
      const shown = lessons["logs"]!.chains.slice(0, 2).map(
        (one) => `${one.prompt.at(-1)!.content}\n${trajectoryText(one.segments)}`,
      );
      await exam("examples", base, { systemPrompt: `${systemPrompt}\n\n${shown.join("\n\n")}` });
    }
    for (const [name, lesson] of Object.entries(lessons)) {
      if (!wants(name)) continue;
      await teach(experiment, name, { ...lesson, rate: 2e-4 });
      await exam(name, taught(name));
    }
    if (wants("rl")) {
      const { processorSeconds } = await practise(experiment, taught("mawps-300"), easy.map(taskOf), tool);
      await exam("rl", taught("rl"));
      const chains = rightRollouts(experiment);
      // The same processor time: about a hundred tokens are taught in a second.
      const passes = Math.max(1, Math.round((processorSeconds * 100) / (chains.length * 120)));
      await teach(experiment, "rejection", { chains, passes, rate: 1e-4, student: { folder: taught("mawps-300") } });
      await exam("rejection", taught("rejection"));
      for (const row of ["rl", "rejection"])
        if (results["mawps-300"])
          console.log(`${row} against mawps-300: ${against(results["mawps-300"], results[row]!)}`);
    }
  } finally {
    await sandbox.close();
  }
  for (const [row, { success, tokensPerSuccess, endings, processorSeconds }] of Object.entries(results))
    console.log(
      `${row}: ${success[0]} % [${success[1]}, ${success[2]}] of ${tasks.length}, ${tokensPerSuccess} tokens per success, ${JSON.stringify(endings)}, ${processorSeconds} CPU s`,
    );
}

if (import.meta.main) await teamLogs();
