/** A model's folder says how it is used: no flag is needed to evaluate, ask or train it as it was taught. */
import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { shippedModels } from "../src/cli/find-model.ts";
import { coa } from "./fixtures/run-coa.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-model-use-"));
const before = process.env["COA_HOME"];
process.env["COA_HOME"] = join(folder, ".coa");
after(async () => {
  if (before === undefined) delete process.env["COA_HOME"];
  else process.env["COA_HOME"] = before;
  await rm(folder, { recursive: true, force: true });
});

describe("a model's coa.json", () => {
  const name = shippedModels()[0]!.name;

  it("lets eval run the shipped model on lab tasks by its name alone", async () => {
    const tasks = join(folder, "tasks.jsonl");
    await coa("lab", "tasks", "--seed", "42", "--split", "test", "--count", "12", "--out", tasks);
    const { stdout } = await coa("eval", "run", tasks, "--model", name, "--name", "shipped", "--json");
    const { success } = JSON.parse(stdout) as { success: { value: number } };
    assert.ok(success.value >= 0.75, `right in ${success.value}`);
  });

  it("keeps the figures of two identities apart: another temperature under the same name is refused", async () => {
    const tasks = join(folder, "tasks.jsonl");
    const again = ["eval", "run", tasks, "--model", name, "--name", "shipped"];
    assert.equal((await coa(...again)).code, 0);
    await assert.rejects(
      coa(...again, "--temperature", "1"),
      /belongs to other work: identity\.sampling\.temperature was 0, is 1/,
    );
    const copy = join(folder, "other", "model");
    await cp(shippedModels()[0]!.folder, copy, { recursive: true });
    const config = JSON.parse(await readFile(join(copy, "config.json"), "utf8")) as Record<string, unknown>;
    await writeFile(join(copy, "config.json"), JSON.stringify({ ...config, max_position_embeddings: 1000 }));
    await assert.rejects(
      coa("eval", "run", tasks, "--model", copy, "--name", "shipped"),
      /belongs to other work: identity\.model\.(name|fingerprint)/,
    );
    const { stdout } = await coa("eval", "run", tasks, "--model", copy, "--limit", "1", "--json");
    assert.equal((JSON.parse(stdout) as { system: string }).system, "chain-other");
    const compared = await coa("eval", "compare", "shipped", "chain-other");
    assert.match(
      compared.stdout,
      /^shipped: chain; model .+ \([0-9a-f]{12}\); profile lab; .*sampling temperature 0\.$/m,
    );
  });

  it("is shown step by step by coa show", async () => {
    const list = await coa("show", "shipped", "--items");
    const task = /^right +(\S+)/m.exec(list.stdout)?.[1] ?? "";
    const { stdout } = await coa("show", "shipped", task);
    assert.match(stdout, /^question: .+\n[\s\S]*^plan +[\s\S]*^grade: +right/m);
    await assert.rejects(coa("show", "shipped", "nothing"), /no run of a task "nothing"/);
  });

  it("refuses a question of the real world, and says what to do", async () => {
    await assert.rejects(
      coa("ask", "What is the capital of France?", "--model", name),
      /name a world with --lab <seed>, or take a real model \(--model/,
    );
    await assert.rejects(coa("serve", "--model", name, "--port", "0"), /name a world with --lab <seed>/);
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
    await assert.rejects(coa("ask", "--model", copy, "--lab", "7"), /coa\.json is not how a model is used/);
  });
});
