/**
 * The shipped model in transformers: AutoTokenizer has the model's vocabulary, `generate` stops by itself, and an adapter
 * that we save is what PEFT computes.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { shippedModels } from "../src/cli/find-model.ts";
import { openEmbeddedEngine } from "../src/engines/embedded/embedded-engine.ts";

const python = process.env["COA_TEST_PYTHON"];
const skip = python ? false : "set COA_TEST_PYTHON=<python with transformers and peft> to run against transformers";
const { folder } = shippedModels()[0] ?? { folder: "" };

/** Runs a script; the last line it prints is JSON. */
function run(script: string, ...args: string[]): Record<string, unknown> {
  const { status, stdout, stderr } = spawnSync(python!, ["-c", script, ...args], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout.trim().split("\n").at(-1)!) as Record<string, unknown>;
}

const generate = `
import sys, json, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
folder = sys.argv[1]
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForCausalLM.from_pretrained(folder)
ids = tokenizer.apply_chat_template([{"role": "user", "content": "What is 12 plus 30?"}], add_generation_prompt=True, return_tensors="pt")
out = model.generate(ids, do_sample=False, max_length=tokenizer.model_max_length)
print(json.dumps({"tokens": len(tokenizer), "vocabulary": model.config.vocab_size, "window": tokenizer.model_max_length,
  "length": out.shape[1], "last": int(out[0, -1]), "ends": model.generation_config.eos_token_id}))
`;

const score = `
import sys, json, torch
from peft import PeftModel
from transformers import AutoModelForCausalLM
folder, adapter, tokens = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(folder), adapter).eval()
ids = torch.tensor([tokens])
with torch.no_grad():
  logprobs = torch.log_softmax(model(ids).logits[0, :-1].double(), -1).gather(1, ids[0, 1:, None])[:, 0]
print(json.dumps({"logprobs": logprobs.tolist()}))
`;

describe("in transformers", { skip }, () => {
  it("the shipped model has its own vocabulary and window, and stops by itself", () => {
    const { tokens, vocabulary, window, length, last, ends } = run(generate, folder);
    assert.equal(tokens, vocabulary);
    assert.ok((length as number) < (window as number), `${length} of ${window}`);
    assert.ok([ends].flat().includes(last), `${last} is not among ${ends}`);
  });

  it("PEFT computes with a saved adapter what the engine computes", async () => {
    const out = await mkdtemp(join(tmpdir(), "coa-peft-"));
    const engine = await openEmbeddedEngine({ folder, lora: { rank: 4, seed: 3 } });
    try {
      const input = Int32Array.from({ length: 40 }, (_, at) => (at * 37) % 700);
      const example = { input: input.slice(0, -1), targets: input.slice(1) };
      await engine.forwardBackward([example], { name: "cross_entropy" });
      await engine.optimStep({ learningRate: 0.05 });
      const { logprobs } = await engine.forward([example], { name: "cross_entropy" });
      await engine.saveState(join(out, "state"));
      const { logprobs: theirs } = run(score, folder, join(out, "state"), JSON.stringify([...input])) as {
        logprobs: number[];
      };
      for (const [at, own] of [...logprobs[0]!].entries()) assert.ok(Math.abs(own - theirs[at]!) < 1e-3, `${at}`);
    } finally {
      await engine.close();
      await rm(out, { recursive: true, force: true });
    }
  });
});
