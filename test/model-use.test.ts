/** A model's folder says how it is used: no flag is needed to evaluate, ask or train it as it was taught. */
import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { shippedModels } from "../src/cli/find-model.ts";
import { main } from "../src/cli/main.ts";
import { createOutput } from "../src/cli/output.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-model-use-"));
const before = process.env["COA_HOME"];
process.env["COA_HOME"] = join(folder, ".coa");
after(async () => {
  if (before === undefined) delete process.env["COA_HOME"];
  else process.env["COA_HOME"] = before;
  await rm(folder, { recursive: true, force: true });
});

async function coa(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const streams = { stdout: "", stderr: "" };
  const out = createOutput({
    stdout: { write: (text: string) => (streams.stdout += text) },
    stderr: { write: (text: string) => (streams.stderr += text) },
  });
  const code = await main(args, out, new AbortController().signal);
  return { code, ...streams };
}

describe("a model's coa.json", () => {
  const name = shippedModels()[0]!.name;

  it("lets eval run the shipped model on lab tasks by its name alone", async () => {
    const tasks = join(folder, "tasks.jsonl");
    await coa("lab", "tasks", "--seed", "42", "--split", "test", "--count", "12", "--out", tasks);
    const { stdout } = await coa("eval", "run", tasks, "--model", name, "--name", "shipped", "--json");
    const { success } = JSON.parse(stdout) as { success: { value: number } };
    assert.ok(success.value >= 0.75, `right in ${success.value}`);
  });

  it("refuses a question of the real world, and says what to do", async () => {
    await assert.rejects(
      coa("ask", "What is the capital of France?", "--model", name),
      /tools are the lab's: name a world with --lab <seed>, or use a model that was taught with real tools/,
    );
  });

  it("is data: a folder with another profile by value is used as it says", async () => {
    const copy = join(folder, "renamed");
    await cp(shippedModels()[0]!.folder, copy, { recursive: true });
    const file = join(copy, "coa.json");
    const use = JSON.parse(await readFile(file, "utf8")) as { language: { profile: { name: string } } };
    use.language.profile.name = "renamed";
    await writeFile(file, JSON.stringify(use));
    const { stdout } = await coa("ask", "--model", copy, "--lab", "7", "--json");
    assert.equal((JSON.parse(stdout) as { profile: string }).profile, "renamed");
    await writeFile(file, "{}");
    await assert.rejects(coa("ask", "--model", copy, "--lab", "7"), /coa\.json does not say how the model is used/);
  });
});
