/**
 * TRL's SFT on what we export: SmolLM2 as `coa model convert` writes it, chains as `dataset export --format trl` writes them. The
 * loss of its first step is ours. `COA_WEIGHTS` names the folder of the weights.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { promisify } from "node:util";
import { readAllJsonl } from "../src/base/files/read-jsonl.ts";
import { runChain } from "../src/chain/run-chain.ts";
import type { Example } from "../src/core/engine.ts";
import { defineTask } from "../src/core/task.ts";
import { exportDataset } from "../src/dataset/export/export-dataset.ts";
import { trajectoryToExample } from "../src/dataset/trajectory-to-example.ts";
import { openEmbeddedEngine } from "../src/engines/embedded/embedded-engine.ts";
import { ggufToFolder } from "../src/engines/embedded/files/gguf-model.ts";
import { mhqaProfile } from "../src/language/profiles.ts";
import { scriptedModel, tableTool } from "../src/testing/index.ts";
import { loadTokenizer } from "../src/tokenizers/load-tokenizer.ts";
import { fixedExamples } from "../src/train/example-source.ts";
import { trainSft } from "../src/train/train-sft.ts";

const python = process.env["COA_TEST_TRL_PYTHON"];
const weights = join(process.env["COA_WEIGHTS"] ?? "", "SmolLM2-135M-Instruct.Q4_1.gguf");
const skip = !python
  ? "set COA_TEST_TRL_PYTHON=<python with torch and trl>"
  : !existsSync(weights)
    ? "set COA_TEST_TRL_PYTHON and COA_WEIGHTS=<folder with SmolLM2>"
    : false;

/** Two short chains with a look-up: what a tool returned is not learned. */
async function chains() {
  const facts = { Ada: "Ada lives in Lyon, a city on the Rhône.", Grace: "Grace was born in New York in 1906." };
  const answers = { Ada: "Lyon", Grace: "1906" };
  const tools = [tableTool(facts, "wiki_search")];
  return Promise.all(
    Object.entries(answers).map(([name, answer]) => {
      const model = scriptedModel([
        `<think>I look ${name} up.</think><wiki_search>${name}</wiki_search>`,
        `<think>The page says it.</think><answer>${answer}</answer>`,
      ]);
      const task = defineTask({ id: name, question: `What is asked of ${name}?`, answers: [answer] });
      return runChain(task, { model, profile: mhqaProfile, tools });
    }),
  );
}

it("TRL's first SFT loss on our export of SmolLM2 is ours", { skip }, async (t) => {
  const home = await mkdtemp(join(tmpdir(), "coa-trl-sft-"));
  try {
    const folder = join(home, "model");
    await ggufToFolder(weights, folder);
    const tokenizer = await loadTokenizer(folder);
    const trajectories = await chains();
    const exported = await exportDataset(trajectories, { format: "trl", folder: home, name: "chains", tokenizer });
    const rows = await readAllJsonl<{ input_ids: number[]; labels: number[] }>(exported.files[0]!);
    assert.equal(rows.length, trajectories.length);
    assert.ok(rows.every(({ labels }) => labels.includes(-100) && labels.some((label) => label !== -100)));
    const examples: Example[] = trajectories.flatMap((one) => trajectoryToExample(one, tokenizer).example ?? []);
    const engine = await openEmbeddedEngine({ folder, lora: { rank: 1, seed: 1 }, threads: 1 });
    const source = fixedExamples(examples, 1e6, 1);
    const optimizer = { learningRate: 1e-6 };
    const { firstLoss } = await trainSft({ engine, source, folder: join(home, "sft"), seed: 1, steps: 1, optimizer });
    await engine.close();
    const args = [join(import.meta.dirname, "trl-sft.py"), folder, exported.files[0]!, join(home, "trl")];
    const { stdout } = await promisify(execFile)(python!, args, { maxBuffer: 2 ** 26 });
    const { loss } = JSON.parse(stdout.trim().split("\n").at(-1)!) as { loss: number };
    t.diagnostic(`ours ${firstLoss}, TRL's ${loss}`);
    assert.ok(Math.abs(firstLoss! - loss) < 1e-4, `ours ${firstLoss}, TRL's ${loss}`);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
