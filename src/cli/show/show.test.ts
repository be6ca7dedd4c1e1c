import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { coa } from "../../../test/fixtures/run-coa.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { emptyUsage } from "../../core/usage.ts";
import { createWorld } from "../../lab/create-world.ts";
import { worldTasks } from "../../lab/world-tasks.ts";
import { indexCorpus } from "../../tools/local-index/index-corpus.ts";
import { shippedModels } from "../find-model.ts";

let folder: string;
const home = process.env["COA_HOME"];
const at = (...parts: string[]) => join(folder, ...parts);
const lines = (...values: unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join("");
const shown = async (...args: string[]) => JSON.parse((await coa("show", ...args, "--json")).stdout);

const chain = (id: string, served?: Trajectory["served"]): Trajectory => ({
  version: 1,
  id,
  taskId: `task-${id}`,
  profile: "web",
  model: "m",
  prompt: [{ role: "user", content: "Who?" }],
  segments: [{ tag: "answer", by: "model", text: "Ada" }],
  answer: "Ada",
  ending: { reason: "answered" },
  violations: [],
  source: { kind: "chain" },
  usage: { ...emptyUsage(), billedTokens: 7 },
  ...(served && { served }),
});

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-show-"));
  process.env["COA_HOME"] = at("home");
  await mkdir(at("home"));
});
after(async () => {
  if (home === undefined) delete process.env["COA_HOME"];
  else process.env["COA_HOME"] = home;
  await rm(folder, { recursive: true, force: true });
});

describe("coa show", () => {
  it("tells files apart by what their lines hold", async () => {
    await writeFile(at("chains.jsonl"), lines(chain("a"), chain("b")));
    assert.deepEqual(
      (await shown(at("chains.jsonl"))).chains.map((one: { id: string; tokens: number }) => [one.id, one.tokens]),
      [
        ["a", 7],
        ["b", 7],
      ],
    );
    assert.match((await coa("show", at("chains.jsonl"), "task-b")).stdout, /^answer +Ada\n.*7 tokens billed/m);
    await assert.rejects(coa("show", at("chains.jsonl"), "c"), /no chain in .* begins with "c"; the newest are: a, b/);
    await writeFile(
      at("rollouts.jsonl"),
      lines({ step: 3, round: 0, slot: 1, sample: 0, reward: 0.5, trajectory: chain("r") }),
    );
    assert.equal((await shown(at("rollouts.jsonl"))).chains[0].reward, 0.5);
    await writeFile(
      at("tasks.jsonl"),
      lines(...worldTasks(createWorld({ seed: 1 }), { count: 2, families: ["hop1"] })),
    );
    assert.deepEqual(await shown(at("tasks.jsonl")), { tasks: 2, families: { hop1: 2 } });
    await writeFile(at("odd.jsonl"), lines({ x: 1 }, { step: 1, loss: 2 }));
    assert.deepEqual((await shown(at("odd.jsonl"))).kinds, { other: 1, metrics: 1 });
  });

  it("compares kept chains with the old system they ran beside", async () => {
    const shadow = (agrees: boolean) => ({ shadow: { answer: "x", agrees, ms: 10, model: "old" } });
    await writeFile(at("kept.jsonl"), lines(chain("a", shadow(true)), chain("b", shadow(false)), chain("c")));
    const { served } = await shown(at("kept.jsonl"));
    assert.deepEqual([served.chains, served.shadow.compared, served.shadow.agreement.value], [3, 2, 0.5]);
    assert.match((await coa("show", at("kept.jsonl"))).stdout, /agreement with the old system: 50\.0 %/);
  });

  it("writes the records of what it shows, and never over a file", async () => {
    const { file, records } = await shown(at("rollouts.jsonl"), "--out", at("out.jsonl"));
    assert.deepEqual([file, records], [at("out.jsonl"), 1]);
    await assert.rejects(coa("show", at("chains.jsonl"), "--out", at("out.jsonl")), /exists already/);
    await assert.rejects(coa("show", at("tasks.jsonl"), "--out", at("x.jsonl")), /\(tasks\) holds no runs or chains/);
    await assert.rejects(coa("show", at("tasks.jsonl"), "--html", at("x.html")), /there is no report of .*\(tasks\)/);
  });

  it("draws a training, finds a model by its name, searches an index, and lists them in the workspace", async () => {
    await mkdir(at("home", "run"));
    await writeFile(at("home", "run", "metrics.jsonl"), lines({ step: 1, loss: 2 }, { step: 2, loss: 1, entropy: 3 }));
    assert.match(
      (await coa("show", "run")).stdout,
      /steps 1 to 2.*\nloss +2\.000 +█▁ +1\.000\nentropy +3\.000 +▁ +3\.000/,
    );
    await assert.rejects(coa("show", "run", "--items"), /has no rollouts/);
    await cp(shippedModels()[0]!.folder, at("home", "models", "mine"), { recursive: true });
    assert.ok((await shown("mine")).parameters > 1e6);
    await writeFile(at("docs.jsonl"), lines({ title: "Lyon", text: "Lyon is a city on the Rhone." }));
    await indexCorpus(at("docs.jsonl"), at("home", "index", "docs"));
    assert.equal((await shown("index/docs", "rhone")).hits[0].document.title, "Lyon");
    assert.equal((await shown("index/docs")).passages, 1);
    assert.equal((await shown("index")).entries[0].path, "docs");
    const { entries } = await shown();
    assert.deepEqual(
      entries.map((entry: { path: string; kind: string }) => [entry.path, entry.kind]),
      [
        ["index/docs", "index"],
        ["models/mine", "model"],
      ],
    );
  });

  it("says what there is where a word means nothing", async () => {
    await assert.rejects(coa("show", "nothing"), /nothing is not a path, and nothing in .* has this name; there are/);
  });
});
