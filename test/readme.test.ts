/** README's samples: type-checked as a user's project would, and run against a server that speaks OpenAI's API. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { installPackage } from "./fixtures/installed-package.ts";
import { type ModelServer, startModelServer } from "./fixtures/model-server.ts";

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "coa-readme-"));
const samples = [...readFileSync(join(root, "README.md"), "utf8").matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(
  ([, code]) => code!,
);
let server: ModelServer;

before(async () => {
  installPackage(folder);
  server = await startModelServer({
    models: { data: [{ id: "m", owned_by: "vllm" }] },
    keepStop: true,
    answer: ({ body }) =>
      JSON.stringify(body["messages"]).includes("the Rhône crosses it")
        ? "<think>done</think><suggested_answer>the Rhône</suggested_answer><think>it fits</think><double_check>The score this time is:4</double_check><answer>the Rhône</answer>"
        : '<think>look it up</think><plan>ask for the facts</plan><think>now</think><city_facts>{"city":"Lyon"}</city_facts>',
  });
});
after(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("README", () => {
  it("has samples that compile", () => {
    assert.ok(samples.length > 0);
    for (const [index, code] of samples.entries()) writeFileSync(join(folder, `${index}.ts`), code);
    const flags =
      "--noEmit --strict --module nodenext --target esnext --allowImportingTsExtensions --skipLibCheck --erasableSyntaxOnly --types node";
    const tsc = join(root, "node_modules", ".bin", "tsc");
    const files = samples.map((_, index) => `${index}.ts`);
    const { status, stdout } = spawnSync(tsc, [...flags.split(" "), ...files], { cwd: folder, encoding: "utf8" });
    assert.equal(status, 0, stdout);
  });

  it("has a first sample that answers with its tool", async () => {
    const env = { PATH: process.env["PATH"], OPENAI_BASE_URL: server.url };
    const child = spawn(process.execPath, ["0.ts"], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (said += text));
    const code = await new Promise((done) => child.on("close", done));
    assert.equal(code, 0, said);
    assert.match(said, /^the Rhône \d+\n$/);
  });
});
