import assert from "node:assert/strict";
import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { coa } from "../../../test/fixtures/run-coa.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { writtenForm } from "../../core/trajectory.ts";
import { trajectorySchema } from "../../core/trajectory-schema.ts";

describe("from a lab task to a dataset, on the command line", () => {
  let folder = "";
  const path = (name: string) => join(folder, name);
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "coa-cli-distill-"));
    await coa("lab", "tasks", "--seed", "31", "--set", "lab.pages=200", "--count", "40", "--out", path("tasks.jsonl"));
    const flags = ["--scripted", "--fast", "--imperfect", "0.3", "--out", path("runs.jsonl")];
    assert.equal((await coa("team", "run", path("tasks.jsonl"), ...flags)).code, 0);
    await appendFile(path("runs.jsonl"), "{ broken\n");
  });
  after(() => rm(folder, { recursive: true, force: true }));
  const distill = (...more: string[]) =>
    coa(
      "distill",
      "run",
      path("runs.jsonl"),
      "--tasks",
      path("tasks.jsonl"),
      "--profile",
      "lab",
      "--bare",
      "--set",
      "distill.minInteractions=4",
      "--set",
      "distill.keepWithoutReflection=1",
      "--out",
      path("distilled"),
      ...more,
    );

  it("distills, reports and shows", async () => {
    const { code, stdout } = await distill("--json");
    assert.equal(code, 0);
    const report = JSON.parse(stdout);
    assert.equal(report.records, 41);
    assert.deepEqual(
      report.problems.map((problem: { line: number; stage: string }) => [problem.line, problem.stage]),
      [[41, "input"]],
    );
    const chains = await readAllJsonl(path("distilled/trajectories.jsonl"), trajectorySchema);
    assert.equal(chains.length, report.written);
    assert.match((await coa("show", path("distilled"))).stdout, /correctness +█/);
    const shown = await coa("show", path("distilled"), chains[0]!.taskId);
    assert.ok(shown.stdout.includes(writtenForm(chains[0]!.segments[1]!)));
    assert.match(shown.stdout, /: kept\n/);
    await assert.rejects(coa("show", path("distilled"), "nobody"), /has no run/);
  });

  it("asks a judge, spelt as on every other command, and refuses the old spelling", async () => {
    const lines = (await readFile(path("tasks.jsonl"), "utf8")).trim().split("\n");
    const open = lines.map((line) => JSON.stringify({ ...JSON.parse(line), kind: "judge" })).join("\n");
    await writeFile(path("open-tasks.jsonl"), `${open}\n`);
    let asked = 0;
    const server = createServer((request, response) => {
      request.resume().on("end", () => {
        asked++;
        const content = "correct: yes\nreasoning: the same\nconfidence: 90%";
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify({ choices: [{ message: { role: "assistant", content }, finish_reason: "stop" }] }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const judged = (...more: string[]) =>
      coa(
        "distill",
        "run",
        path("runs.jsonl"),
        "--tasks",
        path("open-tasks.jsonl"),
        "--profile",
        "lab",
        "--bare",
        "--out",
        path("judged"),
        "--json",
        ...more,
      );
    try {
      await assert.rejects(judged("--judge", "gpt-4.1"), /there is no judge "gpt-4.1".*--judge-model/s);
      const { code, stdout } = await judged("--judge", "hle", "--judge-model", "j", "--judge-url", url);
      assert.equal(code, 0);
      assert.ok(asked > 0 && JSON.parse(stdout).kept > 0, stdout);
    } finally {
      server.close();
    }
  });

  it("takes a folder of traces of several frameworks, without a profile and with nothing invented", async () => {
    const traces = join(import.meta.dirname, "../../../test/fixtures/traces");
    const run = (...more: string[]) =>
      coa("distill", "run", traces, "--out", path("foreign"), "--set", "distill.nearDuplicates=1.1", "--json", ...more);
    const { stdout } = await run("--assume-right");
    const report = JSON.parse(stdout);
    assert.ok(report.kept >= 10, stdout);
    assert.deepEqual([report.right.assumed, report.right.graded], [report.kept, 0]);
    assert.equal(report.dropped.length, report.records - report.kept);
    for (const dropped of report.dropped) assert.ok(dropped.reason.length > 3, JSON.stringify(dropped));
    const chains = await readAllJsonl(path("foreign/trajectories.jsonl"), trajectorySchema);
    for (const chain of chains) assert.equal(chain.segments.filter((segment) => segment.filled).length, 0);
    assert.equal((await run("--profile", path("foreign/profile.json"), "--resume", "fresh")).code, 1);
  });

  it("takes a filter of the user's own, and says when one is missing or the profile unknown", async () => {
    const filter = path("my-filter.ts");
    await writeFile(
      filter,
      `export default { name: "even", judge: (t: { answer: string }) => (/[02468]$/.test(t.answer) ? { reason: "even" } : null) };\n`,
    );
    const { stdout } = await distill("--resume", "fresh", "--filter", filter, "--json");
    const stage = JSON.parse(stdout).stages.find((one: { name: string }) => one.name === "even");
    assert.ok(stage.dropped > 0);
    await assert.rejects(distill("--filter", path("nowhere.ts")), /there is no file/);
    await assert.rejects(distill("--profile", "nonsense"), /there is no profile/);
    await assert.rejects(coa("distill", "run", path("runs.jsonl")), /--out/);
  });

  it("builds, inspects, counts, splits and exports the dataset", async () => {
    const chains = path("distilled/trajectories.jsonl");
    const built = await coa("dataset", "build", chains, "--vocabulary", "420", "--out", path("dataset"), "--json");
    const manifest = JSON.parse(built.stdout);
    assert.equal(manifest.examples, (await readAllJsonl(chains)).length);
    const { id, spans } = JSON.parse((await coa("show", path("dataset"), "0", "--json")).stdout);
    assert.deepEqual(spans.map((span: { kind: string }) => span.kind).slice(0, 3), ["prompt", "trained", "masked"]);
    assert.match((await coa("show", path("dataset"), id)).stdout, /\[trained\] <think> /);
    assert.match((await coa("show", path("dataset"))).stdout, /examples +\d+\n/);
    const again = await coa(
      "dataset",
      "build",
      chains,
      "--tokenizer",
      path("dataset/tokenizer"),
      "--max-tokens",
      "300",
      "--set",
      "dataset.overlong=cut",
      "--out",
      path("cut"),
      "--json",
    );
    assert.ok(JSON.parse(again.stdout).cut > 0);
    const split = JSON.parse((await coa("dataset", "split", chains, "--validation", "0.3", "--json")).stdout);
    assert.equal(split[0].records + split[1].records, manifest.examples);
    for (const format of ["chat", "llama-factory"]) {
      const { stdout } = await coa("dataset", "export", chains, "--format", format, "--out", path(format), "--json");
      assert.equal(JSON.parse(stdout).rows, manifest.examples);
    }
    const trl = await coa(
      "dataset",
      "export",
      chains,
      "--format",
      "trl",
      "--tokenizer",
      path("dataset/tokenizer"),
      "--out",
      path("trl"),
    );
    assert.match(trl.stdout, new RegExp(`^${manifest.examples} rows`));
    const rl = await coa(
      "dataset",
      "export",
      path("tasks.jsonl"),
      "--format",
      "verl-rl",
      "--profile",
      "web",
      "--out",
      path("rl"),
    );
    assert.match(rl.stdout, /^40 rows/);
    assert.match(await readFile(path("rl/chains.jsonl"), "utf8"), /"ground_truth"/);
    const lab = await coa("dataset", "export", path("tasks.jsonl"), "--format", "verl-rl", "--profile", "lab", "--out", path("lab")); // biome-ignore format: one command
    assert.match(lab.stdout, /^40 rows/);
  });

  it("explains wrong usage in one sentence", async () => {
    await assert.rejects(
      coa("dataset", "build", path("nothing.jsonl"), "--vocabulary", "400", "--out", path("x")),
      /there is no file/,
    );
    await assert.rejects(
      coa("dataset", "build", path("tasks.jsonl"), "--out", path("x")),
      /--tokenizer <folder>, or train one/,
    );
    await assert.rejects(coa("dataset", "export", path("tasks.jsonl"), "--format", "csv"), /--format takes chat/);
    await assert.rejects(coa("show", path("dataset"), "100000"), /but not example 100000/);
    await assert.rejects(
      coa("dataset", "split", path("tasks.jsonl"), "--validation", "0.9", "--test", "0.5"),
      /less than 1 together/,
    );
  });
});
