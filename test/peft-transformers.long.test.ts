/**
 * The shipped model in transformers: AutoTokenizer has the model's vocabulary, `generate` stops by itself, and an adapter
 * that we save is what PEFT computes, also with scales of single modules.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { writeTar } from "../src/base/files/tar.ts";
import { shippedModels } from "../src/cli/find-model.ts";
import { openEmbeddedEngine } from "../src/engines/embedded/embedded-engine.ts";
import { saveCheckpointFiles } from "../src/engines/tinker/checkpoint-files.ts";

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
question = [{"role": "user", "content": "What is 12 plus 30?"}]
prompt = tokenizer.apply_chat_template(question, add_generation_prompt=True, return_tensors="pt", return_dict=True)
out = model.generate(**prompt, do_sample=False, max_length=tokenizer.model_max_length)
print(json.dumps({"tokens": len(tokenizer), "vocabulary": model.config.vocab_size, "window": tokenizer.model_max_length,
  "positions": model.config.max_position_embeddings, "length": out.shape[1], "last": int(out[0, -1]), "ends": model.generation_config.eos_token_id}))
`;

const score = `
import sys, json, torch
from peft import PeftModel
from transformers import AutoModelForCausalLM
folder, tokens, adapters = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:]
ids = torch.tensor([tokens])
scores = []
for adapter in adapters:
  model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(folder).float(), adapter).eval()
  with torch.no_grad():
    scores.append(torch.log_softmax(model(ids).logits[0, :-1].double(), -1).gather(1, ids[0, 1:, None])[:, 0].tolist())
print(json.dumps({"scores": scores}))
`;

const input = Int32Array.from({ length: 40 }, (_, at) => (at * 37) % 700);
const example = { input: input.slice(0, -1), targets: input.slice(1) };

/** What an engine with this adapter says of the example; a new adapter takes one large step and is saved to `out` first. */
async function ownScores(lora: { folder: string } | { rank: number; seed: number }, out?: string): Promise<number[]> {
  const engine = await openEmbeddedEngine({ folder, lora, threads: 1 });
  try {
    if (out) {
      await engine.forwardBackward([example], { name: "cross_entropy" });
      await engine.optimStep({ learningRate: 0.05 });
      await engine.saveAdapter(out);
    }
    const { logprobs } = await engine.forward([example], { name: "cross_entropy" });
    return [...logprobs[0]!];
  } finally {
    await engine.close();
  }
}

const furthest = (left: readonly number[], right: readonly number[]) =>
  Math.max(...left.map((value, at) => Math.abs(value - right[at]!)));

describe("in transformers", { skip }, () => {
  it("the shipped model has its own vocabulary and window, and stops by itself", () => {
    const { tokens, vocabulary, window, positions, length, last, ends } = run(generate, folder);
    assert.equal(tokens, vocabulary);
    assert.equal(window, positions);
    assert.ok((length as number) < (window as number), `${length} of ${window}`);
    assert.ok([ends].flat().includes(last), `${last} is not among ${ends}`);
  });

  it("PEFT computes with a saved adapter what the engine computes, scales of single modules included", async (t) => {
    const out = await mkdtemp(join(tmpdir(), "coa-peft-"));
    try {
      const [plain, scaled] = [join(out, "plain"), join(out, "scaled")];
      const own = [await ownScores({ rank: 4, seed: 3 }, plain)];
      await cp(plain, scaled, { recursive: true });
      const config = join(scaled, "adapter_config.json");
      const alpha_pattern = { v_proj: 1, "layers.1.mlp.(up|down)_proj": 24 };
      await writeFile(config, JSON.stringify({ ...JSON.parse(await readFile(config, "utf8")), alpha_pattern }));
      own.push(await ownScores({ folder: scaled }));
      const { scores } = run(score, folder, JSON.stringify([...input]), plain, scaled) as { scores: number[][] };
      assert.equal(scores[0]!.length, own[0]!.length);
      assert.ok(furthest(scores[0]!, scores[1]!) > 0.1, "the scales change nothing here: the test shows nothing");
      const apart = own.map((values, at) => furthest(values, scores[at]!));
      t.diagnostic(`furthest apart, in nats: ${apart.join(" and ")}`);
      assert.ok(Math.max(...apart) < 1e-3, `${apart.join(" and ")} nats apart`);
    } finally {
      await rm(out, { recursive: true, force: true });
    }
  });

  it("PEFT loads the whole of an adapter that a server left without the names of its modules", async (t) => {
    const out = await mkdtemp(join(tmpdir(), "coa-peft-"));
    try {
      const [plain, raw, named] = [join(out, "plain"), join(out, "raw"), join(out, "named")];
      const own = await ownScores({ rank: 4, seed: 3 }, plain);
      const config = JSON.parse(await readFile(join(plain, "adapter_config.json"), "utf8"));
      const files = {
        "adapter_config.json": Buffer.from(JSON.stringify({ ...config, target_modules: null })),
        "adapter_model.safetensors": await readFile(join(plain, "adapter_model.safetensors")),
      };
      await mkdir(raw);
      for (const [name, bytes] of Object.entries(files)) await writeFile(join(raw, name), bytes);
      await saveCheckpointFiles(writeTar(files), named, { merge: false });
      const { scores } = run(score, folder, JSON.stringify([...input]), raw, named) as { scores: number[][] };
      const [open, closed] = scores.map((values) => furthest(own, values));
      t.diagnostic(`as the server wrote it ${open} nats apart, with the modules named ${closed}`);
      assert.ok(open! > 0.1, "PEFT loads it whole by itself now: the names are not needed any more");
      assert.ok(closed! < 1e-3, `${closed} nats apart`);
    } finally {
      await rm(out, { recursive: true, force: true });
    }
  });
});
