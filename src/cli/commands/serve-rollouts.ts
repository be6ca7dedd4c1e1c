import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readModelUse } from "../../base/files/model-use-file.ts";
import { openJsonl } from "../../base/files/open-jsonl.ts";
import { UsageError } from "../../core/errors.ts";
import { asNumber, asObject, parseJson } from "../../core/json-value.ts";
import { defineTask } from "../../core/task.ts";
import { taskKinds } from "../../core/task-schema.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import { openPolicyClients } from "../../models/policy-clients.ts";
import { rolloutHandler } from "../../serve/rollout-handler.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import { chainOf, type RolloutChain, workerIdentity } from "../../train/workers/worker-protocol.ts";
import { defineCommand } from "../command.ts";
import { findModel } from "../find-model.ts";
import { type OpenWork, openWork } from "../open-chain.ts";
import { portOptions, runServer } from "../serve-flags.ts";
import { text } from "../setting.ts";
import { openGrader } from "./eval-grading.ts";
import { rewardOf } from "./rl-settings.ts";

const examples = [
  "coa serve rollouts --model Qwen2.5-7B --profile web --search serper --port 4245",
  "coa serve rollouts --lab 7 --port 4245",
];

export default defineCommand({
  summary:
    "Run chains for another trainer: POST /rollouts takes tasks and the policy's base URL, gives ids, mask, log-probabilities and reward.",
  examples,
  options: {
    model: text("Folder of the policy's tokenizer and config; its coa.json tells how it was taught", { valueName: "folder", group: "model" }),
  }, // biome-ignore format: one flag a line
  reads: ["server", "serve", "chain", "tools", "limits", "judge", "grader", "reward"],
  hides: ["name", "shadow", "fallback"],
  async run({ values, settings, out, signal, session }) {
    const port = await portOptions(settings.server);
    const { chain, serve } = settings;
    const found = await findModel({ name: values.model }, { lab: chain.lab !== undefined || chain.profile === "lab" });
    if (found.kind !== "folder")
      throw new UsageError(`coa serve rollouts needs the folder of the policy's tokenizer: ${examples[0]}`);
    const { folder } = found;
    const use = await readModelUse(folder);
    const tokenizer = await loadTokenizer(folder);
    // The policy runs elsewhere and may be of any kind: nothing but its window is read here.
    const config = asObject(parseJson(await readFile(join(folder, "config.json"), "utf8")));
    const contextWindow = asNumber(config?.["max_position_embeddings"]);
    const work = await openWork(settings, session, use);
    const kinds = taskKinds.map((kind) => defineTask({ id: kind, question: "?", kind }));
    const graders = await openGrader(settings, session, kinds, { parts: "every" });
    if (graders.note)
      out.note("without --judge-model open questions are decided only where the answer matches word for word");
    const policies = session.closeAtEnd(openPolicyClients(tokenizer, { contextWindow }));
    const kept = serve.keep === undefined ? undefined : session.closeAtEnd(await openJsonl<unknown>(serve.keep));
    const maxCompletionTokens = settings.limits.maxTokens ?? use?.limits?.["maxCompletionTokens"] ?? 1024;
    const how: RolloutChain = {
      temperature: 1,
      limits: { ...use?.limits, maxCompletionTokens },
      bareQuestion: chain.bareQuestion || use?.question === "bare",
      enforcement: chain.enforcement,
    };
    const served = rolloutHandler({
      ...port.handler,
      policyAt: (address) => policies.at(address),
      profile: work.profile,
      toolsOf: work.toolsOf,
      reward: rewardOf(settings.reward, graders.grader, work.profile),
      maxChains: serve.maxChains ?? 64,
      maxQueue: serve.maxQueue ?? 4096,
      onTrajectory: (trajectory) =>
        void kept?.append(trajectory).catch((error: Error) => out.note(`not kept: ${error.message}`)),
      defaults: chainOf(how),
      workers: forWorkers(work, tokenizer, how),
    });
    return await runServer(served, port, { out, signal, json: values.json });
  },
});

/** What workers are told; none where the tools are another for each task, as in the lab. */
function forWorkers({ profile, toolsOf }: OpenWork, tokenizer: Tokenizer, chain: RolloutChain) {
  const task = defineTask({ id: "of a trainer", question: "?" });
  try {
    return { identity: workerIdentity({ profile, tools: toolsOf(task), tokenizer }), task, chain };
  } catch {
    return undefined;
  }
}
