import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { loopbackTrainer } from "../../test/engine/loopback-trainer.ts";
import { byteTokenizer } from "../../test/fixtures/conformance/byte-tokenizer.ts";
import { writeTar } from "../base/files/tar.ts";
import type { Handler } from "../base/http/handler.ts";
import { modelConfig } from "../engines/embedded/model/config.ts";
import { loadTokenizer } from "../tokenizers/load-tokenizer.ts";
import { saveTrained } from "../train/save-trained.ts";
import { openTrainEngine } from "./open-train-engine.ts";
import { type Section, sections } from "./settings/index.ts";

type EngineSettings = Section<"engine">;

const far = {
  ...(Object.fromEntries(
    Object.keys(sections.engine.settings).map((name) => [name, undefined]),
  ) as unknown as EngineSettings),
  ...({ kind: "tinker", baseModel: "coa/test", lora: 4, reduction: "sum", roundMaxTokens: false } as const),
};
const adamw = { optimizer: "adamw", seed: 0 } as const;

describe("--engine tinker", () => {
  // Nothing listens there: what is refused is refused before the server is asked.
  const server = { ...far, url: "http://127.0.0.1:9" };
  const cases: [Partial<EngineSettings>, RegExp, "adamw" | "muon"][] = [
    [{ url: undefined }, /needs its server: --engine-url/, "adamw"],
    [{ baseModel: undefined }, /needs the model's name on the server: --base-model/, "adamw"],
    [{ lora: undefined }, /trains an adapter: give its rank with --lora/, "adamw"],
    [{}, /trains with AdamW; leave --optimizer out/, "muon"],
    [{ loraAlpha: 8 }, /engine.loraAlpha is decided by the server/, "adamw"],
    [{ loraTargets: "q_proj" }, /engine.loraTargets is decided by the server/, "adamw"],
  ];
  for (const [changed, message, optimizer] of cases) {
    it(`refuses ${JSON.stringify(changed, (_, value) => value ?? null)} with ${optimizer} before anything is sent`, async () => {
      delete process.env["TINKER_BASE_URL"];
      await assert.rejects(
        openTrainEngine({ ...server, ...changed }, "weights/afm-lab-2m", { optimizer, seed: 0 }, () => {}),
        message,
      );
    });
  }
});

describe("--engine tinker, connected", () => {
  const folder = "weights/afm-lab-2m";
  const sizes = { hiddenSize: 16, layers: 1, heads: 2, intermediateSize: 24, maxContext: 64 };

  /** A small model with the folder's vocabulary behind our server, and the flags that lead to it. */
  async function serving(
    work: (settings: EngineSettings) => Promise<void>,
    server?: Parameters<typeof loopbackTrainer>[2],
    served?: Parameters<typeof loopbackTrainer>[3],
  ) {
    const { vocabularySize } = await loadTokenizer(folder);
    const config = modelConfig({ ...sizes, vocabularySize });
    const trainer = await loopbackTrainer({ config, seed: 3, threads: 1 }, config, server, served);
    try {
      await work({ ...far, url: trainer.origin });
    } finally {
      await trainer.close();
    }
  }

  it("refuses a folder whose tokenizer is not the server's before the first step", async () => {
    const other = { tokenizer: byteTokenizer() };
    await serving(async (settings) => {
      await assert.rejects(
        openTrainEngine(settings, folder, adamw, () => {}),
        /the folder's tokenizer has \d+ ids, that of coa\/test on the server has \d+: give the folder/,
      );
    }, other);
  });

  it("refuses to train all weights on a server that trains adapters, before the first step", async () => {
    await serving(async (settings) => {
      const all = openTrainEngine({ ...settings, lora: 0 }, folder, adamw, () => {});
      await assert.rejects(all, /LoRA rank 0: this server trains adapters of rank 1 or more, not whole models/);
    });
  });

  it("trains all weights where the server does, and writes its archive as the model", async () => {
    /** A server that takes rank 0 for all weights and gives a model's files, as SkyRL on GPUs does. */
    const whole = (handler: Handler): Handler => {
      return async (request, reply) => {
        if (request.path.endsWith("/download"))
          return reply.send(200, gzipSync(writeTar({ "run/model.safetensors": Buffer.from("weights") })), {});
        if (!request.path.endsWith("/create_model")) return handler(request, reply);
        const asked = JSON.parse((await request.read(1e6)).toString("utf8"));
        assert.equal(asked.lora_config.rank, 0);
        const inside = { ...asked, lora_config: { ...asked.lora_config, rank: 1 } };
        return handler({ ...request, read: async () => Buffer.from(JSON.stringify(inside)) }, reply);
      };
    };
    const out = await mkdtemp(join(tmpdir(), "coa-whole-"));
    await serving(
      async (settings) => {
        const trained = await openTrainEngine({ ...settings, lora: 0 }, folder, adamw, () => {});
        try {
          assert.equal(trained.engine.capabilities.fullParameter, true);
          assert.deepEqual(trained.folders(out), { model: join(out, "model") });
          await saveTrained(trained.folders(out), trained);
          assert.equal(await readFile(join(out, "model", "model.safetensors"), "utf8"), "weights");
          assert.ok(existsSync(join(out, "model", "tokenizer.json")));
        } finally {
          await trained.close();
        }
      },
      {},
      whole,
    );
    await rm(out, { recursive: true });
  });

  it("samples from a router under the name that the training server gave the weights, also after resuming", async () => {
    await serving(async (settings) => {
      const routed = { ...settings, samplerUrl: "http://127.0.0.1:9/v1", stateHours: 1 };
      const trained = await openTrainEngine(routed, folder, adamw, () => {});
      try {
        assert.equal(trained.engine.capabilities.maxContext, 64, "the server's window is the shorter one");
        const first = await trained.engine.publish();
        assert.match(first.servedAs!, /^model_/);
        assert.ok((await trained.modelFor(first)).name.includes(first.servedAs!));
        assert.equal(await trained.modelFor(first), await trained.modelFor(first));
        await trained.engine.loadState(await trained.engine.saveState("state-1"));
        const resumed = await trained.engine.publish();
        assert.notEqual(resumed.servedAs, first.servedAs);
        assert.ok((await trained.modelFor(resumed)).name.includes(resumed.servedAs!));
      } finally {
        await trained.close();
      }
      const named = await openTrainEngine({ ...routed, samplerModel: "mine" }, folder, adamw, () => {});
      try {
        assert.ok((await named.modelFor(await named.engine.publish())).name.includes("mine"));
      } finally {
        await named.close();
      }
    });
  });
});
