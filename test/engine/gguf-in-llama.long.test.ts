/**
 * A GGUF file that we write, read by llama.cpp: the same ids in give the same greedy ids out as transformers wrote for the file it was
 * made from. `COA_WEIGHTS` names the folder of the weights, `COA_PYTHON` a python with xllamacpp.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { startStepper } from "../../bench/engine/stepper.ts";

const source = join(process.env["COA_WEIGHTS"] ?? "", "SmolLM2-135M-Instruct.Q4_1.gguf");
const python = process.env["COA_PYTHON"] ?? "";
const main = join(import.meta.dirname, "../../src/cli/main.ts");

function missing(): string | false {
  if (!process.env["COA_WEIGHTS"] || !existsSync(source)) return "COA_WEIGHTS names no folder with SmolLM2's file";
  const found = python !== "" && spawnSync(python, ["-c", "import xllamacpp"]).status === 0;
  return found ? false : "COA_PYTHON names no python with xllamacpp";
}

it("llama.cpp reads what we write, and answers as transformers does", { skip: missing() }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "coa-llama-"));
  const file = join(folder, "smollm2.gguf");
  const { status, stderr } = spawnSync(process.execPath, [main, "model", "convert", source, file], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  const fixture = join(import.meta.dirname, "../fixtures/greedy-smollm2.json");
  const references = (
    JSON.parse(readFileSync(fixture, "utf8")) as { promptIds: number[]; ids: number[]; firstClose: number | null }[]
  ).slice(0, 10);
  const setting = { file, type: "F32", threads: 1, rows: [] };
  const llama = await startStepper<{ answers: number[][] }>(python, "llama-real.py", setting);
  const steps = Math.max(...references.map(({ ids }) => ids.length));
  const { answers } = await llama.step({ do: "greedy", prompts: references.map((one) => one.promptIds), steps });
  llama.stop();
  for (const [index, { ids, firstClose }] of references.entries()) {
    const certain = Math.min(firstClose ?? ids.length, ids.length);
    assert.deepEqual(answers[index]!.slice(0, certain), ids.slice(0, certain), `prompt ${index}`);
  }
  await rm(folder, { recursive: true });
});
