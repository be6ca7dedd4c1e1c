/** The Tinker SDK for Python as it is, against our own training server, where a Python that has it is named. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { base, config } from "./far-runs.ts";
import { loopbackTrainer } from "./loopback-trainer.ts";

const python = process.env["COA_TEST_TINKER_PYTHON"];

describe("the Tinker SDK for Python", () => {
  it("trains and samples", {
    skip: python ? false : "set COA_TEST_TINKER_PYTHON to a Python with tinker",
  }, async () => {
    const server = await loopbackTrainer(base, config);
    try {
      const script = join(import.meta.dirname, "tinker-smoke.py");
      const { stdout } = await promisify(execFile)(python!, [script, server.origin, "coa/test"]);
      const said = JSON.parse(stdout.trim().split("\n").at(-1)!) as {
        losses: number[];
        counts: number[];
        sampled: { tokens: number; logprobs: number }[];
      };
      assert.ok(said.losses.at(-1)! < said.losses[0]!, `${said.losses}`);
      assert.deepEqual(new Set(said.counts), new Set([7]), "a log-probability for every target");
      assert.equal(said.sampled.length, 2);
      for (const { tokens, logprobs } of said.sampled) assert.deepEqual([tokens, logprobs], [4, 4]);
    } finally {
      await server.close();
    }
  });
});
