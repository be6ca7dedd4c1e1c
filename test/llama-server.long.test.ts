/**
 * The shipped model as a GGUF file behind a stock llama.cpp server, started without special flags: the same outcome on at
 * least 38 of 40 lab tasks, through `coa eval run` with `--base-url`. What the client needs to know it reads from the model's folder or file.
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
import { readEvaluation } from "../src/evaluate/read-evaluation.ts";
import { coaWith } from "./fixtures/run-coa.ts";

const binary = process.env["COA_TEST_LLAMA_SERVER"];
const skip = binary ? false : "set COA_TEST_LLAMA_SERVER=<llama-server> to run against llama.cpp";

async function coa(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await coaWith({}, ...args);
  assert.equal(code, 0, stderr);
  return stdout;
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
    const server = spawn(binary!, ["-m", gguf, "--host", "127.0.0.1", "--port", String(port)], {
      stdio: "ignore",
      env: { ...process.env, LLAMA_ARG_THREADS: "1" }, // threads that wait for each other crawl on a busy machine
    });
    closers.push(() => server.kill("SIGKILL"));
    baseURL = `http://127.0.0.1:${port}/v1`;
    for (;;) {
      const health = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
      if (health?.ok) return;
      assert.equal(server.exitCode, null, "llama-server ended");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  });
  after(async () => {
    for (const close of closers.toReversed()) await close();
  });

  /** Which tasks a run of `coa eval run` solved. */
  async function solved(name: string, args: readonly string[]): Promise<Set<string>> {
    const { folder: kept } = JSON.parse(await coa(["eval", "run", tasks, "--name", name, "--json", ...args])) as {
      folder: string;
    };
    const { records } = await readEvaluation(kept);
    return new Set(records.filter(({ grade }) => grade.correct).map(({ taskId }) => taskId));
  }

  it("solves the lab tasks that the embedded engine solves, by what the model's folder and its GGUF file say", async (context) => {
    const model = shippedModels()[0]!.folder;
    const here = await solved("embedded", ["--model", model]);
    for (const [name, files] of Object.entries({ folder: model, gguf })) {
      const there = await solved(`served-${name}`, ["--model", files, "--base-url", baseURL]);
      const other = here.symmetricDifference(there).size;
      context.diagnostic(
        `${name}: ${there.size} of 40 behind the server, ${here.size} embedded, ${other} other outcomes`,
      );
      assert.ok(other <= 2, `${other} of 40 tasks came out otherwise`);
    }
  });
});
