import { fstatSync } from "node:fs";
import { openJsonl } from "../../base/files/open-jsonl.ts";
import type { ChainOptions } from "../../chain/chain-options.ts";
import { runChain } from "../../chain/run-chain.ts";
import { remedies } from "../../core/ending.ts";
import { UsageError } from "../../core/errors.ts";
import { defineTask, type Task } from "../../core/task.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { worldTasks } from "../../lab/world-tasks.ts";
import { defineCommand } from "../command.ts";
import { type OpenChain, openChain } from "../open-chain.ts";
import { chainSummary, renderChain } from "../render-chain.ts";
import { text, toggle, whole } from "../setting.ts";
import type { Settings } from "../settings/index.ts";
import { priceOf } from "../spending.ts";

export default defineCommand({
  summary:
    "Let one model play the whole team: it plans, calls tools, reflects, checks and answers, live in the terminal.",
  arguments: '["question"…]',
  examples: [
    'coa ask "How long is the river that flows through Lyon?" --base-url http://localhost:8000/v1',
    "coa ask --lab 7",
    'coa ask "What is 17^23 mod 91?" --profile code',
  ],
  options: {
    seed: whole("Seed of the sampling", { default: 0, min: 0, valueName: "n", group: "model" }),
    save: text("Append the trajectory to this JSONL file", { valueName: "file", group: "output" }),
    events: toggle("Print every event as a line of JSON while it happens", { group: "output" }),
    quiet: toggle("Print only the answer", { group: "output" }),
  }, // biome-ignore format: one flag a line
  reads: ["model", "chain", "tools", "limits", "spending"],
  async run({ values, settings, positionals, out, signal, session }) {
    const { model, chain, spending } = settings;
    const question =
      positionals.length > 0 ? positionals.join(" ") : chain.lab === undefined ? await pipedQuestion() : undefined;
    const live = !values.json && !values.events && !values.quiet;
    const opened = await openChain(settings, session);
    const task = taskOf(question, opened, out.note);
    // On a terminal text appears as it is written; elsewhere whole lines are printed.
    const write = (text: string) => (out.isTTY ? out.write(text) : out.print(text.trimEnd()));
    const render = renderChain({ style: out.style, live: out.isTTY, write });
    const options: ChainOptions = {
      model: opened.model,
      tools: opened.toolsOf(task),
      profile: opened.profile,
      enforcement: chain.enforcement,
      ...opened.defaults,
      limits: { ...opened.defaults.limits, ...chainLimits(settings) },
      sampling: { temperature: model.temperature, topP: model.topP, seed: values.seed, entropies: chain.entropies },
      prices: priceOf(spending.price, opened.model.name),
      signal,
      onEvent: values.events ? out.json : live ? render : undefined,
    };
    const trajectory = await runChain(task, options);
    if (values.save !== undefined) await append(values.save, trajectory);
    if (values.json && !values.events) out.json(trajectory);
    else if (values.quiet) out.print(trajectory.answer ?? "");
    const remedy = remedies[trajectory.ending.code ?? ""];
    if (remedy) out.note(remedy);
    if (!values.json && !values.events) out.note(chainSummary(trajectory));
    return trajectory.answer === null ? 1 : 0;
  },
});

function chainLimits({ limits, spending }: Settings<"limits" | "spending">): NonNullable<ChainOptions["limits"]> {
  const { maxSteps, maxTokens, maxSeconds } = limits;
  return {
    ...(maxSteps !== undefined && { maxSteps }),
    ...(maxTokens !== undefined && { maxCompletionTokens: maxTokens }),
    ...(maxSeconds !== undefined && { maxWallMs: maxSeconds * 1000 }),
    ...(spending.maxUsd !== undefined && { maxCostUsd: spending.maxUsd }),
  };
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
