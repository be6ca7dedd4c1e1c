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
import { runChain } from "../src/chain/run-chain.ts";
import { shippedModels } from "../src/cli/find-model.ts";
import { openFolder } from "../src/cli/open-model.ts";
import { sampledSequences } from "../src/dataset/trajectory-to-example.ts";
import { openEmbeddedEngine } from "../src/engines/embedded/embedded-engine.ts";
import { saveCheckpointFiles } from "../src/engines/tinker/checkpoint-files.ts";
import { createWorld } from "../src/lab/create-world.ts";
import { labLimits } from "../src/lab/lab-model-use.ts";
import { labToolsByTask } from "../src/lab/memory-lab-tools.ts";
import { labProfile } from "../src/lab/profile.ts";
import { worldTasks } from "../src/lab/world-tasks.ts";
import { toolTags } from "../src/language/profile.ts";
import { loadTokenizer } from "../src/tokenizers/load-tokenizer.ts";

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
folder, chains, ends = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
torch.set_num_threads(1)
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForCausalLM.from_pretrained(folder).float()
def written(prompt):
  ids = torch.tensor([prompt])
  out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_length=tokenizer.model_max_length, eos_token_id=ends)
  return out[0, len(prompt):].tolist()
turns = []
for tokens, mask in chains:
  at = 0
  while 1 in mask[at:]:
    start = mask.index(1, at)
    at = mask.index(0, start) if 0 in mask[start:] else len(mask)
    turns.append({"ours": tokens[start:at], "theirs": written(tokens[:start])})
  turns[-1]["closed"] = written(tokens)[:1]
print(json.dumps({"tokens": len(tokenizer), "vocabulary": model.config.vocab_size, "window": tokenizer.model_max_length,
  "positions": model.config.max_position_embeddings, "ends": model.generation_config.eos_token_id, "turns": turns}))
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
  it("the shipped model has its own vocabulary and window, and writes its chains turn by turn to an end of its own", async () => {
    const { model } = await openFolder(folder);
    const tokenizer = await loadTokenizer(folder);
    const world = createWorld({ seed: 7, pages: 600, split: "test" });
    const toolsOf = labToolsByTask(world);
    const options = { model, profile: labProfile, systemPrompt: false as const, limits: labLimits };
    const chains = await Promise.all(
      worldTasks(world, { count: 3, seed: 7 }).map((task) =>
        runChain(task, { ...options, tools: toolsOf(task), sampling: { temperature: 0, seed: 0 } }),
      ),
    );
    await model.close?.();
    const sequences = chains
      .flatMap((chain) => sampledSequences(chain, tokenizer))
      .map((one) => [one.tokens, one.mask]);
    // A call ends a turn: its tool comes next. After the answer the model ends the chain itself.
    const calls = toolTags(labProfile).map(({ name }) => tokenizer.specialToken(`</${name}>`)!);
    const said = run(generate, folder, JSON.stringify(sequences), JSON.stringify([...tokenizer.endOfTurn, ...calls]));
    const turns = said["turns"] as { ours: number[]; theirs: number[]; closed?: number[] }[];
    assert.equal(said["tokens"], said["vocabulary"]);
    assert.equal(said["window"], said["positions"]);
    assert.deepEqual([said["ends"]].flat(), [...tokenizer.endOfTurn]);
    assert.ok(turns.length > chains.length, "chains with calls");
    for (const { ours, theirs } of turns) assert.deepEqual(theirs.slice(0, ours.length), ours);
    for (const { closed } of turns)
      if (closed) assert.ok(tokenizer.endOfTurn.includes(closed[0]!), "it stops by itself");
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
