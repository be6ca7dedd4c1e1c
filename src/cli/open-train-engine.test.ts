import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openTrainEngine } from "./open-train-engine.ts";

type Values = Parameters<typeof openTrainEngine>[0];

describe("--engine tinker", () => {
  // Nothing listens there: what is refused is refused before the server is asked.
  const server = { engine: "tinker", "engine-url": "http://127.0.0.1:9", "base-model": "coa/test", lora: "4" };
  const cases: [Record<string, string | undefined>, RegExp][] = [
    [{ "engine-url": undefined }, /needs its server: --engine-url/],
    [{ "base-model": undefined }, /needs the model's name on the server: --base-model/],
    [{ lora: undefined }, /trains an adapter: give its rank with --lora/],
    [{ optimizer: "muon" }, /trains with AdamW; leave --optimizer out/],
    [{ "lora-alpha": "8" }, /--lora-alpha is the server's to choose/],
    [{ "lora-targets": "q_proj" }, /--lora-targets is the server's to choose/],
  ];
  for (const [flags, message] of cases) {
    it(`refuses ${JSON.stringify(flags, (_, value) => value ?? null)} before anything is sent`, async () => {
      delete process.env["TINKER_BASE_URL"];
      const values = { ...server, optimizer: "adamw", ...flags } as unknown as Values;
      await assert.rejects(
        openTrainEngine(values, "weights/afm-lab-2m", () => {}),
        message,
      );
    });
  }
});
