/** From a dataset to a merged model by commands alone: `coa serve trainer`, `coa train sft --engine tinker`, `coa model convert`. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { it } from "node:test";
import { main } from "../../src/cli/main.ts";
import { createOutput } from "../../src/cli/output.ts";
import { emptyUsage } from "../../src/core/usage.ts";
import { openEmbeddedEngine } from "../../src/engines/embedded/embedded-engine.ts";

const cli = join(import.meta.dirname, "../../src/cli/main.ts");

async function coa(...args: string[]): Promise<void> {
  const said = { stdout: "", stderr: "" };
  const out = createOutput({
    stdout: { write: (text: string) => (said.stdout += text) },
    stderr: { write: (text: string) => (said.stderr += text) },
  });
  assert.equal(await main(args, out, new AbortController().signal), 0, said.stderr);
}

it("trains an adapter on a server, and merges it here into a model with the same log-probabilities", async () => {
  const folder = await mkdtemp(join(tmpdir(), "coa-merged-"));
  const at = (name: string) => join(folder, name);
  process.env["COA_HOME"] = at("home");
  const chains = Array.from({ length: 4 }, (_, index) => ({
    version: 1,
    id: `c${index}`,
    taskId: "t",
    profile: "web",
    model: "m",
    prompt: [{ role: "user", content: "Who?" }],
    segments: [
      { tag: "think", by: "model", text: "It is known. ".repeat(4) },
      { tag: "answer", by: "model", text: "Ada" },
    ],
    answer: "Ada",
    ending: { reason: "answered" },
    usage: emptyUsage(),
    violations: [],
    source: { kind: "distilled", id: "r" },
  }));
  await writeFile(at("chains.jsonl"), chains.map((chain) => `${JSON.stringify(chain)}\n`).join(""));
  await coa("dataset", "build", at("chains.jsonl"), "--vocabulary", "300", "--out", at("data"));
  const size = ["--hidden", "16", "--layers", "2", "--heads", "2", "--context", "512"];
  await coa("model", "new", at("base"), "--tokenizer", join(at("data"), "tokenizer"), ...size);
  const flags = [
    "--model",
    at("base"),
    "--name",
    "coa/small",
    "--port",
    "0",
    "--set",
    `trainer.checkpoints=${at("checkpoints")}`,
  ];
  const server = spawn(
    process.execPath,
    [cli, "serve", "trainer", ...flags, "--set", "trainer.threads=1", "--set", "trainer.maxMemoryGb=2"],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  try {
    let origin = "";
    for await (const line of createInterface({ input: server.stdout })) {
      origin = /^ready (http:\S+)$/.exec(line)?.[1] ?? "";
      if (origin) break;
    }
    const far = ["--engine", "tinker", "--engine-url", origin, "--base-model", "coa/small", "--lora", "4"];
    const steps = ["--steps", "6", "--rate", "0.01", "--set", "train.heldOut=0", "--out", at("run")];
    await coa("train", "sft", at("data"), "--model", at("base"), ...far, ...steps);

    // An archive as servers give it; the run has deleted that of its sampling there.
    const kept = await readdir(at("checkpoints"), { recursive: true });
    assert.ok(
      kept.every((path) => !/sampler_weights.*safetensors/.test(path)),
      kept.join(),
    );
    execFileSync("tar", ["czf", at("checkpoint.tar.gz"), "-C", join(at("run"), "adapter"), "."]);
    await coa("model", "convert", at("base"), at("converted"), "--adapter", at("checkpoint.tar.gz"));

    const tokens = Int32Array.from({ length: 60 }, (_, index) => (index * 37) % 290);
    const example = { input: tokens.slice(0, -1), targets: tokens.slice(1) };
    const score = async (options: Parameters<typeof openEmbeddedEngine>[0]) => {
      const engine = await openEmbeddedEngine({ ...options, threads: 1 });
      const { logprobs } = await engine.forward([example], { name: "cross_entropy" });
      await engine.close();
      return logprobs[0]!;
    };
    const [untrained, adapted, merged, converted] = [
      await score({ folder: at("base") }),
      await score({ folder: at("base"), lora: { folder: join(at("run"), "adapter") } }),
      await score({ folder: join(at("run"), "model") }),
      await score({ folder: at("converted") }),
    ];
    const gap = (row: Float32Array) => Math.max(...row.map((value, index) => Math.abs(value - adapted[index]!)));
    assert.ok(gap(merged) < 2e-5 && gap(converted) < 2e-5, `${gap(merged)}, ${gap(converted)}`);
    assert.ok(gap(untrained) > 0.01, "the adapter has learned something");
  } finally {
    server.kill();
    await rm(folder, { recursive: true, force: true });
  }
});
