import { once } from "node:events";
import { mkdir, symlink } from "node:fs/promises";
import { totalmem } from "node:os";
import { dirname, join, resolve } from "node:path";
import { accessOf, checkReach } from "../../base/http/access.ts";
import { listen, readyLine } from "../../base/http/listen.ts";
import { UsageError } from "../../core/errors.ts";
import { openEmbeddedEngine } from "../../engines/embedded/embedded-engine.ts";
import { loadModelConfig } from "../../engines/embedded/files/model-folder.ts";
import { adapterMemory, loadSharedBase } from "../../engines/embedded/shared-base.ts";
import { trainerHandler } from "../../serve/trainer/trainer-handler.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import { defineCommand, missingArgument, numberOf } from "../command.ts";
import { findModel } from "../find-model.ts";

const examples = [
  "coa serve trainer --model weights/afm-lab-2m --as coa/lab-2m --port 8000",
  "coa train sft .coa/dataset --engine tinker --engine-url http://127.0.0.1:8000 --base-model coa/lab-2m --lora 8 --model weights/afm-lab-2m",
];

export default defineCommand({
  name: "serve trainer",
  summary: "Serve the engine of this machine as a Tinker server, for any Tinker client, until Ctrl-C.",
  examples,
  options: {
    model: { type: "string", valueName: "folder", describe: "The base model; clients train adapters over it" },
    as: { type: "string", default: "coa/model", valueName: "org/name", describe: "The name that clients ask for" },
    port: { type: "string", default: "8000", valueName: "n", describe: "Port; 0 for any free one" },
    host: { type: "string", default: "127.0.0.1", valueName: "address", describe: "Address to listen on; beyond loopback a key is needed" },
    key: { type: "string", valueName: "key", describe: "Key that clients must bring in X-API-Key (default COA_TRAINER_KEY)" },
    checkpoints: { type: "string", default: ".coa/trainer", valueName: "folder", describe: "Where saved weights are kept" },
    "max-models": { type: "string", default: "4", valueName: "n", describe: "Adapters under training at the same time" },
    "max-memory": { type: "string", valueName: "gb", describe: "Memory for the base, adapters and published policies; more are refused (default: 60 % of this machine's)" },
    workdir: { type: "string", valueName: "folder", describe: "Link the model here under its name, so that Python clients started there find its tokenizer" },
    threads: { type: "string", valueName: "n", describe: "Threads; all cores by default" },
  }, // biome-ignore format: one flag a line
  async run({ values, out, signal }) {
    const found = findModel({ name: values.model }, { lab: true });
    if (found.kind !== "folder") throw missingArgument(this, "a model folder: --model <folder>");
    const { folder } = found;
    if (!/^[\w.-]+\/[\w.-]+$/.test(values.as))
      throw new UsageError(`--as takes a name like coa/lab-2m, not "${values.as}"`);
    const key = values.key ?? process.env["COA_TRAINER_KEY"];
    checkReach(values.host, key !== undefined, "key");
    const threads = numberOf(values.threads, "threads", { min: 1, integer: true });
    const most = numberOf(values["max-memory"], "max-memory", { min: 0.001 }) ?? 0.6 * (memoryHere() / 1e9);
    const config = await loadModelConfig(folder);
    const memoryOf = (rank: number) => adapterMemory(config, { rank, cacheBytes, ...(threads ? { threads } : {}) });
    const least = memoryOf(1);
    const limit = most * 1e9 - least.base;
    if (limit < least.training + least.sampling)
      throw new UsageError(
        `--max-memory ${most.toFixed(2)} is too little: the base takes ${gigabytes(least.base)}, an adapter of rank 1 with one policy ${gigabytes(least.training + least.sampling)}`,
      );
    const base = await loadSharedBase(folder);
    const trainer = trainerHandler({
      baseModel: values.as,
      maxContext: config.maxContext,
      tokenizerId: resolve(folder),
      tokenizer: await loadTokenizer(folder),
      openAdapter: (lora) => openEmbeddedEngine({ base, lora, threads, cacheBytes }),
      memory: { limit, model: (rank) => memoryOf(rank).training, policy: least.sampling },
      checkpoints: values.checkpoints,
      maxModels: numberOf(values["max-models"], "max-models", { min: 1, integer: true }),
      access: accessOf(values.host),
      ...(key ? { apiKeys: [key] } : {}),
    });
    if (values.workdir !== undefined) await linkModel(folder, join(values.workdir, values.as));
    const port = numberOf(values.port, "port", { min: 0, max: 65_535, integer: true });
    const server = await listen(trainer, { port, host: values.host });
    if (values.json) out.json({ address: server.origin, baseModel: values.as });
    else out.print(`${values.as} can be trained at ${server.origin} (Ctrl-C ends)\n${readyLine(server.origin)}`);
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

/** transformers looks for a folder of the model's name where it is started, before it looks for a hub. */
async function linkModel(folder: string, link: string): Promise<void> {
  await mkdir(dirname(link), { recursive: true });
  await symlink(resolve(folder), link).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}
