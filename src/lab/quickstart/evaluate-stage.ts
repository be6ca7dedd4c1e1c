/**
 * The same held-out tasks for everybody: the team in both topologies, the model after SFT and after RL, with tools that work and
 * with tools that fail, all with real search, real HTTP and a real sandbox. Names and numbers of these tasks occur in no
 * training world.
 */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inParallel } from "../../base/work/limiter.ts";
import type { System } from "../../core/system.ts";
import type { Tool } from "../../core/tool.ts";
import { chainResult } from "../../evaluate/chain-system.ts";
import { compareEvaluations, comparisonReport } from "../../evaluate/compare-evaluations.ts";
import { defineSystem } from "../../evaluate/define-system.ts";
import { readEvaluation, type StoredEvaluation } from "../../evaluate/read-evaluation.ts";
import { runEvaluation } from "../../evaluate/run-evaluation.ts";
import { taskGrader } from "../../graders/grade-task.ts";
import { comparisonTable } from "../../report/comparison-table.ts";
import { resultSentence } from "../../report/result-sentence.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import { chooseSandbox } from "../../tools/sandbox/choose-sandbox.ts";
import { faultWords, withFaults } from "../../tools/with-faults.ts";
import { createWorld } from "../create-world.ts";
import { labTeam, teamWords } from "../lab-team.ts";
import { disturbances } from "../memory-lab-tools.ts";
import { shortNameSeeds } from "../names.ts";
import { labProfile } from "../profile.ts";
import { realLabTools } from "../real-lab-tools.ts";
import { worldTasks } from "../world-tasks.ts";
import { modelFolder, openLabModel, runLabChain } from "./open-model.ts";
import type { QuickstartContext, Stage } from "./stage.ts";

/**
 * The systems in the order of the report. The `-no-prompts` teams
 * work without their system prompts, which scripted agents don't need, and the `-terse` one without descriptions too;
 * the `-wide` one sends workers side by side. With `-failing`, four in ten searches find nothing or, in the fast size, time out. After a team that makes mistakes,
 * samples at temperature 1 show what was copied from it.
 */
export function systemsOf(imperfect: number): readonly string[] {
  return [
    "team-handoff",
    "team-agents-as-tools",
    "team-handoff-no-prompts",
    "team-agents-as-tools-no-prompts",
    "team-agents-as-tools-terse",
    "team-agents-as-tools-wide",
    "chain-sft",
    "chain-rl",
    ...(imperfect > 0
      ? ["chain-sft-sampled", "chain-rl-sampled"]
      : ["team-handoff-failing", "chain-sft-failing", "chain-rl-failing"]),
  ];
}

/** Systems measured at once: while the model of one waits for its tools, the other's computes. */
const atOnce = 2;

export const evaluateStage: Stage = {
  name: "evaluate",
  what: "team and models answer the same new questions about names and numbers that training never showed",
  async run(context, folder) {
    const world = createWorld({ seed: context.seed % shortNameSeeds, pages: context.settings.pages, split: "test" });
    const tasks = worldTasks(world, { count: context.settings.testTasks, seed: context.seed });
    const sandbox = chooseSandbox({ isolation: "run" });
    const lab = await realLabTools(world, sandbox);
    const plan = disturbances[context.settings.failing](context.seed);
    const measure = async (name: string): Promise<[string, number]> => {
      const failing = name.endsWith("-failing");
      const { system, concurrency, close } = await openSystem(
        name,
        context,
        failing ? withFaults(lab.tools, plan) : lab.tools,
        failing ? faultWords(plan) : name.endsWith("-sampled") ? "answers are sampled at temperature 1" : undefined,
      );
      try {
        const { summary } = await runEvaluation(tasks, system, {
          folder: join(folder, name),
          grader: taskGrader(),
          measure: { split: "test", scorers: ["the lab's own answers"], judges: [] },
          concurrency,
          seed: context.seed,
          signal: context.signal,
          onProgress: context.onProgress,
        });
        return [name, summary.success.value];
      } finally {
        await close();
      }
    };
    try {
      const measured = Object.fromEntries(await inParallel(systemsOf(context.imperfect), atOnce, measure));
      const [team, sft, rl] = ["team-handoff", "chain-sft", "chain-rl"].map(
        (name) => `${(100 * measured[name]!).toFixed(0)} %`,
      );
      const line = `of ${tasks.length} new questions the team answers ${team}, the model ${sft} after SFT and ${rl} after RL`;
      return { ...measured, line, example: `${tasks[0]!.question} Right: ${tasks[0]!.answers.join(" or ")}` };
    } finally {
      await lab.close();
      await sandbox.close();
    }
  },
};

interface OpenSystem {
  system: System;
  concurrency: number;
  close(): Promise<void>;
}

async function openSystem(
  name: string,
  context: QuickstartContext,
  tools: readonly Tool[],
  condition: string | undefined,
): Promise<OpenSystem> {
  if (name.startsWith("team-")) {
    const topology = name.startsWith("team-handoff") ? "handoff" : "agents-as-tools";
    const words = teamWords.find((one) => name.endsWith(`-${one}`)) ?? "full";
    // Everybody's tokens are counted with the trained model's own vocabulary, so the counts are comparable.
    const tokenizer = await loadTokenizer(modelFolder(context.folder, "sft"));
    const countTokens = (text: string) => tokenizer.encode(text).length;
    const { imperfect, seed } = context;
    const wide = name.endsWith("-wide");
    const identity = { kind: "team", topology, words, wide, ...(condition && { condition }) };
    const system = labTeam({ name, tools: () => tools, topology, words, countTokens, imperfect, seed, wide, identity });
    return { system, concurrency: 8, close: async () => {} };
  }
  const stage = name.startsWith("chain-sft") ? "sft" : "rl";
  const temperature = name.endsWith("-sampled") ? 1 : 0;
  const { model, engine } = await openLabModel(modelFolder(context.folder, stage), { threads: 1 });
  const system = defineSystem({
    name,
    topology: "single",
    identity: {
      kind: "chain",
      model: stage,
      sampling: { temperature },
      learned: stage,
      ...(condition && { condition }),
    },
    run: async (task, { seed, signal }) =>
      chainResult(labProfile, await runLabChain(task, { model, tools, temperature, seed, signal })),
  });
  return { system, concurrency: 64, close: () => engine.close() };
}

export const reportStage: Stage = {
  name: "report",
  what: "one table and one page with everything side by side",
  async run({ folder: run, imperfect }, folder) {
    const evaluations: StoredEvaluation[] = [];
    const systems = systemsOf(imperfect);
    for (const name of systems) evaluations.push(await readEvaluation(join(run, "evaluate", name)));
    const comparison = compareEvaluations(evaluations);
    const title = imperfect > 0 ? "Quickstart with an imperfect team" : "Quickstart";
    await writeFile(join(folder, "report.html"), comparisonReport(evaluations, comparison, { title }));
    const lines = [comparisonTable(comparison)];
    if (imperfect > 0)
      lines.push(
        "",
        `The team erred in ${100 * imperfect} % of its runs and nothing filtered them: SFT copied the errors, RL had only right or wrong to go by.`,
      );
    await writeFile(join(folder, "table.txt"), `${lines.join("\n")}\n`);
    const [before, after] = ["chain-sft", "chain-rl"].map(
      (name) =>
        evaluations.find(({ summary }) => summary.system === `${name}${imperfect > 0 ? "-sampled" : "-failing"}`)!,
    ) as [StoredEvaluation, StoredEvaluation];
    const won = before.records.find(
      ({ taskId, grade }) =>
        !grade?.correct && after.records.some((one) => one.taskId === taskId && one.grade?.correct),
    );
    const question = before.tasks.find(({ id }) => id === won?.taskId)?.question;
    const rest = after.records.find(({ taskId }) => taskId === won?.taskId)?.answer;
    return {
      page: join(folder, "report.html"),
      line: resultSentence(comparison),
      example: won ? `${question} After SFT: ${won.answer ?? "no answer"}. After RL: ${rest}, which is right.` : "",
    };
  },
};

/** One table and one page: what the model saves and what it loses, against teams with long and with short prompts. */
export async function readTable(run: string): Promise<string> {
  return readFile(join(run, "report", "table.txt"), "utf8");
}
