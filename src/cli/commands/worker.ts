import { readModelUse } from "../../base/files/model-use-file.ts";
import { UsageError } from "../../core/errors.ts";
import { engineModel } from "../../models/engine-model.ts";
import { openPolicyClients, ownKeyFor } from "../../models/policy-clients.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import { chainRollout } from "../../train/chain-rollout.ts";
import { runWorker } from "../../train/workers/run-worker.ts";
import { chainOf, workerIdentity } from "../../train/workers/worker-protocol.ts";
import { defineCommand, MissingArgument } from "../command.ts";
import { openWork } from "../open-chain.ts";
import { text, whole } from "../setting.ts";

export default defineCommand({
  summary: "Run rollouts of a training run (coa train rl --workers-port n) until it ends; needs no weights.",
  examples: [
    "coa worker --coordinator http://10.0.0.5:8700 --model ./qwen3-8b --profile web --search index --index .coa/wiki",
  ],
  options: {
    coordinator: text("Address of the training run", { valueName: "url" }),
    model: text("Folder with the tokenizer of the trained model", { valueName: "folder", group: "model" }),
    name: text("Worker name shown by the coordinator (default: the machine's name)", { valueName: "name" }),
    concurrency: whole("Max chains at the same time", { default: 64, valueName: "n", group: "limits" }),
  },
  reads: ["workers", "chain", "tools"],
  hides: ["workers-port"],
  async run({ values, settings, out, signal, session }) {
    const { coordinator, model: folder } = values;
    if (!coordinator || !URL.canParse(coordinator))
      throw new MissingArgument("the address of a training run: --coordinator <url>");
    if (!folder) throw new MissingArgument("a tokenizer: --model <folder>");
    if (settings.tools.faults !== undefined)
      throw new UsageError("--tool-faults can't be used with a worker: leave it out");
    const tokenizer = await loadTokenizer(folder);
    const use = await readModelUse(folder);
    const work = await openWork(settings, session, use);
    const { profile, toolsOf } = work;
    const samplers = session.closeAtEnd(openPolicyClients(tokenizer, { ask: true }));
    let done = 0;
    const noted = new Set<string>();
    const noteOnce = (text: string) => {
      if (!noted.has(text)) out.note(text);
      noted.add(text);
    };
    const result = await runWorker({
      coordinator,
      apiKey: settings.workers.key ?? process.env["COA_WORKERS_KEY"],
      name: values.name,
      identity: ({ task }) => workerIdentity({ profile, tools: toolsOf(task), tokenizer }),
      concurrency: values.concurrency,
      patienceMs: 1000 * settings.workers.patienceSeconds,
      async play(lease, { policy, run, signal: stop }) {
        const { sampler } = run;
        const ofRun = sampler && {
          baseURL: sampler.baseURL,
          apiKey: ownKeyFor(sampler.baseURL, process.env, noteOnce),
          model: sampler.model ?? lease.servedAs ?? sampler.baseModel,
        };
        const at = lease.policyAt ?? ofRun;
        const model = at ? samplers.at(at) : engineModel(policy, tokenizer);
        const rollout = chainRollout({ ...chainOf(run.chain), profile, model, tools: toolsOf });
        return rollout(lease.task, { ...lease, signal: stop });
      },
      signal,
      onResult: () => out.progress({ stage: "rollouts", done: ++done }),
    });
    const text = `The run has ended: ${result.counted} rollouts of this worker counted, ${result.late} came too late.`;
    return { json: result, text };
  },
});
