import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readModelUse } from "../../base/files/model-use-file.ts";
import { openJsonl } from "../../base/files/open-jsonl.ts";
import { UsageError } from "../../core/errors.ts";
import { asNumber, asObject, parseJson } from "../../core/json-value.ts";
import { defineTask, taskKinds } from "../../core/task.ts";
import { openPolicyClients } from "../../models/policy-clients.ts";
import { rolloutHandler } from "../../serve/rollout-handler.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import { defineCommand, numberOf } from "../command.ts";
import { findModel } from "../find-model.ts";
import { choiceOf } from "../flag-values.ts";
import { openWork, workFlags } from "../open-chain.ts";
import { runServer } from "../run-server.ts";
import { handlerOptions, portOptions } from "../serve-flags.ts";
import { gradingFlags, openGrader } from "./eval-grading.ts";
import { rewardFlags, rewardOf } from "./reward-flags.ts";

const examples = [
  "coa serve rollouts --model Qwen2.5-7B --profile web --search serper --port 4245",
  "coa serve rollouts --lab 7 --port 4245",
];

export default defineCommand({
  name: "serve rollouts",
  summary:
    "Run chains for another trainer: POST /rollouts takes tasks and the policy's base URL, gives ids, mask, log-probabilities and reward.",
  examples,
  options: {
    model: { type: "string", short: "m", valueName: "folder", describe: "Folder of the policy's tokenizer and config; its coa.json says how it was taught" },
    "bare-question": { type: "boolean", default: false, describe: "Give the model the question without a system prompt" },
    enforcement: { type: "string", default: "repair", valueName: "level", describe: "report or repair: what happens to a move against the rules" },
    "max-tokens": { type: "string", valueName: "n", describe: "Tokens a rollout may write where a request does not say; as the model was taught, or 1024" },
    "max-chains": { type: "string", default: "64", valueName: "n", describe: "Chains at a time; the others wait" },
    "max-queue": { type: "string", default: "4096", valueName: "n", describe: "Chains that may wait; more are refused with 429" },
    keep: { type: "string", valueName: "file", describe: "Append every rollout to this JSONL file" },
    ...workFlags,
    ...rewardFlags,
    ...gradingFlags,
  }, // biome-ignore format: one flag a line
  reads: ["serve"],
  async run({ values, settings, out, signal }) {
    const port = await portOptions(settings.serve);
    const found = findModel(values, { lab: values.lab !== undefined || values.profile === "lab" });
    if (found.kind !== "folder")
      throw new UsageError(`coa serve rollouts needs the folder of the policy's tokenizer: ${examples[0]}`);
    const { folder } = found;
    const whole = { min: 1, integer: true };
    const use = await readModelUse(folder);
    const tokenizer = await loadTokenizer(folder);
    // The policy runs elsewhere and may be of any kind: nothing but its window is read here.
    const config = asObject(parseJson(await readFile(join(folder, "config.json"), "utf8")));
    const contextWindow = asNumber(config?.["max_position_embeddings"]);
    const enforcement = choiceOf(values.enforcement, "enforcement", ["report", "repair"]);
    const work = await openWork(values, { note: out.note, signal, use });
    const kinds = taskKinds.map((kind) => defineTask({ id: kind, question: "?", kind }));
    const graders = await openGrader(values, kinds, { parts: "every" });
    if (graders.note)
      out.note("without --judge-model open questions are decided only where the answer matches word for word");
    const policies = openPolicyClients(tokenizer, { contextWindow });
    const kept = values.keep === undefined ? undefined : await openJsonl<unknown>(values.keep);
    try {
      const served = rolloutHandler({
        ...handlerOptions(port),
        policyAt: (address) => policies.at(address),
        profile: work.profile,
        toolsOf: work.toolsOf,
        reward: rewardOf(values, graders.grader, work.profile),
        maxChains: numberOf(values["max-chains"], "max-chains", whole),
        maxQueue: numberOf(values["max-queue"], "max-queue", { min: 0, integer: true }),
        onTrajectory: (trajectory) =>
          void kept?.append(trajectory).catch((error: Error) => out.note(`not kept: ${error.message}`)),
        defaults: {
          enforcement,
          ...((values["bare-question"] || use?.question === "bare") && { systemPrompt: false as const }),
          limits: {
            ...use?.limits,
            maxCompletionTokens:
              numberOf(values["max-tokens"], "max-tokens", whole) ?? use?.limits?.["maxCompletionTokens"] ?? 1024,
          },
        },
      });
      return await runServer(served, port, { out, signal, json: values.json });
    } finally {
      await kept?.close();
      await policies.close();
      await graders.close();
      await work.close();
    }
  },
});
