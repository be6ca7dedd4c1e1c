import { fstatSync } from "node:fs";
import { jsonlJournal, openJsonl } from "../../base/files/open-jsonl.ts";
import type { ChainOptions } from "../../chain/chain-options.ts";
import { type ChainRecord, chainRecordSchema } from "../../chain/chain-record.ts";
import { runChain } from "../../chain/run-chain.ts";
import { remedies } from "../../core/ending.ts";
import { UsageError } from "../../core/errors.ts";
import { defineTask, type Task } from "../../core/task.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { chainSystem } from "../../evaluate/chain-system.ts";
import { worldTasks } from "../../lab/world-tasks.ts";
import { bestOfFlags, chatOf, openBestOf } from "../choose-best.ts";
import { defineCommand, numberOf, type Values } from "../command.ts";
import { choiceOf, entropiesFlag, priceFlag, priceOf } from "../flag-values.ts";
import { chainFlags, type OpenChain, openChain } from "../open-chain.ts";
import { chainSummary, renderChain } from "../render-chain.ts";

export default defineCommand({
  name: "ask",
  summary:
    "Let one model play the whole team: it plans, calls tools, reflects, checks and answers, live in the terminal.",
  arguments: '["question"…]',
  examples: [
    'coa ask "How long is the river that flows through Lyon?" --base-url http://localhost:8000/v1',
    "coa ask --lab 7",
    'coa ask "What is 17^23 mod 91?" --profile code --enforcement grammar',
    'coa ask "Who wrote it?" --best-of 3 --temperature 1 --json',
  ],
  options: {
    ...chainFlags,
    enforcement: { type: "string", default: "repair", valueName: "level", describe: "report, repair or grammar: what happens to a move against the rules" },
    temperature: { type: "string", short: "t", default: "0", valueName: "x", describe: "Sampling temperature" },
    "top-p": { type: "string", valueName: "x", describe: "Nucleus sampling" },
    seed: { type: "string", default: "0", valueName: "n", describe: "Seed of the sampling" },
    entropies: entropiesFlag,
    "max-steps": { type: "string", valueName: "n", describe: "Model calls" },
    "max-tokens": { type: "string", valueName: "n", describe: "Tokens the model may write in all" },
    "max-cost": { type: "string", valueName: "usd", describe: "Dollars the chain may cost (needs --price)" },
    "max-seconds": { type: "string", valueName: "n", describe: "Wall time" },
    price: priceFlag,
    ...bestOfFlags,
    journal: { type: "string", valueName: "file", describe: "Write finished steps here; the same command resumes after a crash" },
    save: { type: "string", valueName: "file", describe: "Append the trajectory to this JSONL file" },
    events: { type: "boolean", default: false, describe: "Print every event as a line of JSON while it happens" },
    quiet: { type: "boolean", short: "q", default: false, describe: "Print the answer alone" },
  }, // biome-ignore format: one flag a line
  async run({ values, positionals, out, signal }) {
    const question =
      positionals.length > 0 ? positionals.join(" ") : values.lab === undefined ? await pipedQuestion() : undefined;
    const enforcement = choiceOf(values.enforcement, "enforcement", ["report", "repair", "grammar"]);
    const n = numberOf(values["best-of"], "best-of", { min: 1, integer: true });
    const live = !values.json && !values.events && !values.quiet && n === undefined;
    const opened = await openChain(values, { note: out.note, signal });
    const journal =
      values.journal === undefined ? undefined : await jsonlJournal<ChainRecord>(values.journal, chainRecordSchema);
    try {
      const task = taskOf(question, opened, out.note);
      // On a terminal text appears as it is written; elsewhere whole lines are printed.
      const write = (text: string) => (out.isTTY ? void process.stdout.write(text) : out.print(text.trimEnd()));
      const render = renderChain({ style: out.style, live: out.isTTY, write });
      const options: ChainOptions = {
        model: opened.model,
        tools: opened.toolsOf(task),
        profile: opened.profile,
        enforcement,
        ...opened.defaults,
        limits: { ...opened.defaults.limits, ...limitsOf(values) },
        sampling: {
          temperature: numberOf(values.temperature, "temperature", { min: 0 }),
          topP: numberOf(values["top-p"], "top-p", { min: 0, max: 1 }),
          seed: numberOf(values.seed, "seed", { min: 0, integer: true }),
          entropies: values.entropies,
        },
        prices: priceOf(values.price),
        journal,
        signal,
        onEvent: values.events ? out.json : live ? render : undefined,
      };
      const trajectory =
        n === undefined ? await runChain(task, options) : await best(values, task, options, opened, out.note);
      if (values.save !== undefined) await append(values.save, trajectory);
      if (values.json && !values.events) out.json(trajectory);
      else if (values.quiet || n !== undefined) out.print(trajectory.answer ?? "");
      const remedy = remedies[trajectory.ending.code ?? ""];
      if (remedy) out.note(remedy);
      if (!values.json && !values.events) out.note(chainSummary(trajectory));
      return trajectory.answer === null ? 1 : 0;
    } finally {
      await journal?.close();
      await opened.close();
    }
  },
});

async function best(
  values: Values<typeof bestOfFlags>,
  task: Task,
  options: ChainOptions,
  { model }: OpenChain,
  note: (text: string) => void,
): Promise<Trajectory> {
  const { id: _, replay: _replay, signal, ...chain } = options;
  const { system, close } = openBestOf(values, chainSystem(chain), chatOf(model));
  try {
    const { run, chosen, usage } = await system.run(task, { sample: 0, seed: chain.sampling?.seed ?? 0, signal });
    for (const { answer, ending } of chosen!.candidates) note(`candidate: ${answer ?? `none (${ending.reason})`}`);
    note(`chosen: ${chosen!.reason}`);
    return { ...(run!.value as Trajectory), usage };
  } finally {
    await close();
  }
}

function limitsOf(values: {
  "max-steps"?: string;
  "max-tokens"?: string;
  "max-cost"?: string;
  "max-seconds"?: string;
}): NonNullable<ChainOptions["limits"]> {
  const seconds = numberOf(values["max-seconds"], "max-seconds", { min: 0 });
  const limits = {
    maxSteps: numberOf(values["max-steps"], "max-steps", { min: 1, integer: true }),
    maxCompletionTokens: numberOf(values["max-tokens"], "max-tokens", { min: 1, integer: true }),
    maxCostUsd: numberOf(values["max-cost"], "max-cost", { min: 0 }),
    maxWallMs: seconds === undefined ? undefined : seconds * 1000,
  };
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}

/** What a pipe or file gives: `echo "…" | coa ask`. A terminal, or an input left open by a parent, gives nothing. */
async function pipedQuestion(): Promise<string | undefined> {
  const stat = fstatSync(0);
  if (!stat.isFIFO() && !stat.isFile()) return undefined;
  let text = "";
  for await (const chunk of process.stdin.setEncoding("utf8")) text += chunk;
  return text.trim() || undefined;
}

/** The question as a task; in a lab world without one, the first that the world has. */
function taskOf(question: string | undefined, { world }: OpenChain, note: (text: string) => void): Task {
  if (question !== undefined) return defineTask({ id: "ask", question });
  const example = world && worldTasks(world, { count: 1, seed: world.options.seed })[0];
  if (!example)
    throw new UsageError('coa ask needs a question. Example: coa ask "How long is the river that flows through Lyon?"');
  note(
    `A question about lab world ${world.options.seed}: ${example.question} (right: ${example.answers.join(" or ")})`,
  );
  return example;
}

async function append(file: string, trajectory: Trajectory): Promise<void> {
  const writer = await openJsonl<Trajectory>(file);
  await writer.append(trajectory);
  await writer.close();
}
