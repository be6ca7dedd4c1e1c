import { once } from "node:events";
import { totalmem } from "node:os";
import { resolve } from "node:path";
import { accessOf, checkReach } from "../../base/http/access.ts";
import { listen, readyLine } from "../../base/http/listen.ts";
import { UsageError } from "../../core/errors.ts";
import { openEmbeddedEngine } from "../../engines/embedded/embedded-engine.ts";
import { loadModelConfig } from "../../engines/embedded/files/model-folder.ts";
import { adapterMemory, loadSharedBase } from "../../engines/embedded/shared-base.ts";
import { trainerHandler } from "../../serve/trainer/trainer-handler.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import { defineCommand, MissingArgument } from "../command.ts";
import { findModel } from "../find-model.ts";
import { keysOf, portFlag } from "../serve-flags.ts";
import { text } from "../setting.ts";

export default defineCommand({
  summary: "Serve the engine of this machine as a Tinker server, for any Tinker client, until Ctrl-C.",
  examples: [
    "coa serve trainer --model weights/afm-lab-2m --name coa/lab-2m --port 8000",
    "coa train sft .coa/dataset --engine tinker --engine-url http://127.0.0.1:8000 --base-model coa/lab-2m --lora 8 --model weights/afm-lab-2m",
  ],
  options: {
    model: text("The base model; clients train adapters over it", { valueName: "folder", group: "model" }),
    name: text("Model name that clients ask for", { default: "coa/model", valueName: "org/name", group: "model" }),
    port: portFlag(8000),
  },
  reads: ["server", "trainer"],
  async run({ values, settings, out, signal }) {
    const { name } = values;
    const { checkpoints, maxModels, maxMemoryGb, threads } = settings.trainer;
    const { host, apiKeyFile } = settings.server;
    const found = await findModel({ name: values.model }, { lab: true });
    if (found.kind !== "folder") throw new MissingArgument("a model folder: --model <folder>");
    const { folder } = found;
    if (!/^[\w.-]+\/[\w.-]+$/.test(name)) throw new UsageError(`--name takes a name like coa/lab-2m, not "${name}"`);
    const keys = (await keysOf(apiKeyFile)).map(({ key }) => key);
    checkReach(host, keys.length > 0, "api-key-file");
    const most = maxMemoryGb ?? 0.6 * (memoryHere() / 1e9);
    const config = await loadModelConfig(folder);
    const memoryOf = (rank: number) => adapterMemory(config, { rank, cacheBytes, ...(threads ? { threads } : {}) });
    const least = memoryOf(1);
    const limit = most * 1e9 - least.base;
    if (limit < least.training + least.sampling)
      throw new UsageError(
        `trainer.maxMemoryGb ${most.toFixed(2)} is too little: the base takes ${gigabytes(least.base)}, an adapter of rank 1 with one policy ${gigabytes(least.training + least.sampling)}`,
      );
    const base = await loadSharedBase(folder);
    const trainer = trainerHandler({
      baseModel: name,
      maxContext: config.maxContext,
      tokenizerId: resolve(folder),
      tokenizer: await loadTokenizer(folder),
      openAdapter: (lora) => openEmbeddedEngine({ base, lora, threads, cacheBytes }),
      memory: { limit, model: (rank) => memoryOf(rank).training, policy: least.sampling },
      checkpoints,
      maxModels,
      access: accessOf(host),
      keys,
    });
    const server = await listen(trainer, { port: values.port, host });
    if (values.json) out.json({ address: server.origin, baseModel: name });
    else out.print(`${name} can be trained at ${server.origin} (Ctrl-C ends)\n${readyLine(server.origin)}`);
    if (!signal.aborted) await once(signal, "abort");
    await server.drain(10_000);
    await trainer.close();
    return 0;
  },
});

/** For the caches of the sequences of one policy. */
const cacheBytes = 256e6;

/** What this machine, or the container that we are in, has. */
const memoryHere = () => Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);

const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(2)} GB`;
