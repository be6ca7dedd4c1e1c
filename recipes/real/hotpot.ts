/**
 * Experiment 3: HotpotQA with search. 500 published ReAct runs of GPT-4 become chains as they are; a student learns them and answers
 * new questions with BM25 over a pool of passages. Beside it: the base with two chains in its prompt, retrieve-then-read (five passages
 * and the question, the same base), and RL on train questions with exact match as the reward. EM and F1 by HotpotQA's own rule.
 *
 *   node recipes/real/hotpot.ts --model qwen2.5-coder-0.5b-instruct-q4_k_m.gguf --data <folder> [--rows read,examples,sft,rl] [--tests 150]
 *
 * `--data`: real-logs/react-hotpot-gpt-4.jsonl.gz (anchen1011/FireAct, MIT) and hotpot/{passages,test-half,train-500}.jsonl.gz (HotpotQA,
 * CC BY-SA 4.0): questions with their answers, and the passages of their contexts.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { distillRun, proposeProfile } from "../../src/distill/index.ts";
import { openEmbeddedEngine } from "../../src/engines/index.ts";
import { outcomeReward, taskGrader } from "../../src/graders/index.ts";
import { defineProfile, defineTask, type Task, trajectoryText } from "../../src/index.ts";
import { engineModel } from "../../src/models/index.ts";
import { importFiles } from "../../src/record/index.ts";
import { buildIndex, wikiSearch } from "../../src/tools/index.ts";
import { indexRetriever } from "../../src/tools/search/wiki-search.ts";
import { chainRollout, saveTrained, trainRl } from "../../src/train/index.ts";
import { against, examine, once, openExperiment, sha256, teach } from "./parts.ts";

const systemPrompt = "Search, then answer.";
const limits = { maxSteps: 8, maxTokensPerCall: 120, maxCompletionTokens: 400 };

const lines = <T>(file: string): T[] =>
  gunzipSync(readFileSync(file))
    .toString()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

function tasksOf(file: string): Task[] {
  return lines<{ id: string; question: string; answer: string }>(file).map(({ id, question, answer }) =>
    defineTask({ id, question, answers: [answer], kind: "qa", scorer: "hotpotqa" }),
  );
}

export async function hotpot(argv?: string[]): Promise<void> {
  const experiment = await openExperiment("hotpot", argv);
  const { wants, base, data, tests, tokenizer, seed } = experiment;
  if (!data) throw new Error("--data is missing: the folder with real-logs and hotpot");
  const logs = join(data, "real-logs", "react-hotpot-gpt-4.jsonl.gz");
  console.log(`${logs}: sha256 ${await sha256(logs)}`);
  const runs = await importFiles([logs]);
  const { profile: recorded } = await proposeProfile(runs);
  const profile = defineProfile({ ...recorded, style: { ...recorded.style, maxCharacters: 700 } });
  const chain = { profile, systemPrompt, limits };
  const chains = runs.flatMap((run) => distillRun(run, { profile, systemPrompt }).trajectory ?? []);
  const passages = lines<{ id: number; title: string; text: string }>(join(data, "hotpot", "passages.jsonl.gz"));
  const retrieve = indexRetriever(buildIndex(passages.map(({ id, ...one }) => ({ id: String(id), ...one }))));
  // The logs show one short text a search.
  const tools = [wikiSearch({ name: "search", retrieve, topk: 1 })];
  const tasks = tasksOf(join(data, "hotpot", "test-half.jsonl.gz")).slice(0, tests);
  const results: Record<string, Awaited<ReturnType<typeof examine>>> = {};
  const taught = (name: string) => join(experiment.folder, name, "model");
  const exam = async (row: string, model: string, more = {}) => {
    results[row] = await examine(experiment, `exam/${row}`, { ...chain, tasks, tools, model, ...more });
  };
  if (wants("read")) {
    const answer = defineProfile({
      ...profile,
      name: "read",
      start: ["answer"],
      tags: profile.tags.filter(({ tool }) => !tool),
    });
    const read = await Promise.all(
      tasks.map(async (task) => {
        const found = await retrieve(task.question, { topk: 5, signal: AbortSignal.timeout(60_000) });
        return { ...task, question: `${found.map(({ text }) => text).join("\n")}\n\n${task.question}` };
      }),
    );
    const how = "Answer the question at the end from the passages, in a few words, like this: <answer> Paris</answer>";
    await exam("read", base, { profile: answer, tasks: read, tools: [], systemPrompt: how });
  }
  if (wants("examples")) {
    const shown = chains.slice(0, 2).map((one) => `${one.prompt.at(-1)!.content}\n${trajectoryText(one.segments)}`);
    await exam("examples", base, { systemPrompt: `${systemPrompt} As in these examples:\n\n${shown.join("\n\n")}` });
  }
  if (wants("sft")) {
    await teach(experiment, "sft", { chains, passes: 2, rate: 2e-4 });
    await exam("sft", taught("sft"));
  }
  if (wants("rl")) {
    await once(experiment, "rl", async (folder) => {
      const engine = await openEmbeddedEngine({ folder: taught("sft"), threads: 1 });
      try {
        const { rollouts, firstReward, lastReward } = await trainRl({
          ...{ engine, tokenizer, folder: join(folder, "run"), resume: "auto", seed, steps: 12 },
          tasks: tasksOf(join(data, "hotpot", "train-500.jsonl.gz")),
          collect: { groups: 8, samples: 8, maxRounds: 2, concurrency: 64 },
          updates: { passes: 1, perPass: 2, microBatchTokens: 1024 },
          rollout: chainRollout({ ...chain, model: (policy) => engineModel(policy, tokenizer), tools }),
          reward: outcomeReward(taskGrader()),
          optimizer: { learningRate: 5e-5, beta1: 0.9, beta2: 0.95, gradientClip: 1 },
          schedule: { decay: "linear", decayShare: 1, floor: 0.1, byGroups: true },
        });
        await saveTrained(
          { model: join(folder, "model") },
          { engine, tokenizer, from: taught("sft"), training: { stage: "rl", seed } },
        );
        return { rollouts, reward: [firstReward, lastReward] };
      } finally {
        await engine.close();
      }
    });
    await exam("rl", taught("rl"));
  }
  for (const [row, { success, score, toolCalls, processorSeconds }] of Object.entries(results))
    console.log(
      `${row}: EM ${success[0]} % [${success[1]}, ${success[2]}], F1 ${score}, of ${tasks.length}, searches ${JSON.stringify(toolCalls)}, ${processorSeconds} CPU s`,
    );
  for (const row of ["read", "examples"])
    if (results[row] && results["sft"]) console.log(`sft against ${row}: ${against(results[row], results["sft"])}`);
}

if (import.meta.main) await hotpot();
