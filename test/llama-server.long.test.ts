/**
 * The shipped model as a GGUF file behind a stock llama.cpp server, started without special flags: the same lab tasks,
 * through `coa eval run` with `--base-url`. What the client needs to know it reads from the model's folder or file.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { shippedModels } from "../src/cli/find-model.ts";
import { main } from "../src/cli/main.ts";
import { createOutput } from "../src/cli/output.ts";

const binary = process.env["COA_TEST_LLAMA_SERVER"];
const skip = binary ? false : "set COA_TEST_LLAMA_SERVER=<llama-server> to run against llama.cpp";

async function coa(args: readonly string[]): Promise<string> {
  const said = { stdout: "", stderr: "" };
  const out = createOutput({
    stdout: { write: (text: string) => (said.stdout += text) },
    stderr: { write: (text: string) => (said.stderr += text) },
  });
  assert.equal(await main([...args], out, new AbortController().signal), 0, said.stderr);
  return said.stdout;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}

describe("behind llama.cpp's server", { skip }, () => {
  const closers: (() => unknown)[] = [];
  let folder = "";
  let [baseURL, gguf, tasks] = ["", "", ""];
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "coa-llama-"));
    process.env["COA_HOME"] = join(folder, ".coa");
    closers.push(() => rm(folder, { recursive: true, force: true }));
    gguf = join(folder, "model.gguf");
    tasks = join(folder, "tasks.jsonl");
    await coa(["model", "convert", shippedModels()[0]!.folder, gguf]);
    await coa(["lab", "tasks", "--seed", "42", "--split", "test", "--count", "40", "--out", tasks]);
    const port = await freePort();
    const server = spawn(binary!, ["-m", gguf, "--host", "127.0.0.1", "--port", String(port)], { stdio: "ignore" });
    closers.push(() => server.kill("SIGKILL"));
    baseURL = `http://127.0.0.1:${port}/v1`;
    for (let tries = 0; tries < 1200; tries++) {
      const health = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
      if (health?.ok) return;
      assert.equal(server.exitCode, null, "llama-server ended");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.fail("llama-server does not answer");
  });
  after(async () => {
    for (const close of closers.toReversed()) await close();
  });

  for (const kind of ["folder", "GGUF file"] as const) {
    it(`solves at least 38 of 40 lab tasks with what the model's ${kind} says`, async (context) => {
      const model = kind === "folder" ? shippedModels()[0]!.folder : gguf;
      const name = `served-${kind.replace(" ", "-")}`;
      const args = ["--model", model, "--base-url", baseURL, "--name", name, "--json"];
      const { successes, runs } = JSON.parse(await coa(["eval", "run", tasks, ...args])) as Record<string, number>;
      context.diagnostic(`${successes} of ${runs}`);
      assert.ok(successes! >= 38, `${successes} of ${runs}`);
    });
  }
});
