/** One file of questions and answers, as a person would write it, is read by every command that takes tasks. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { emptyUsage } from "../src/core/usage.ts";
import { coa } from "./fixtures/run-coa.ts";
import { type ScriptedLlm, startScriptedLlm } from "./fixtures/scripted-llm.ts";

describe("a file with questions and answers alone", () => {
  let folder: string;
  let llm: ScriptedLlm;
  const saved = { ...process.env };
  const at = (name: string) => join(folder, name);
  const harbours = join(import.meta.dirname, "..", "docs", "tutorials", "harbours");

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "coa-tasks-"));
    llm = await startScriptedLlm();
    Object.assign(process.env, { COA_HOME: at("home"), OPENAI_BASE_URL: llm.url });
    const rows = ["Belmora: Ines Aaker", "Castrin: Otto Fenwick", "Dunholt: Mara Lindt"].map((row) => row.split(": "));
    const line = ([town, answer]: string[]) =>
      JSON.stringify({ question: `What is the harbour master of ${town}?`, answer });
    await writeFile(at("questions.jsonl"), `${rows.map(line).join("\n")}\n`);
  });
  after(async () => {
    for (const name of ["COA_HOME", "OPENAI_BASE_URL"]) delete process.env[name];
    Object.assign(process.env, saved);
    await llm.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function done(...words: string[]): Promise<string> {
    const { code, stdout, stderr } = await coa(...words);
    assert.equal(code, 0, `${words.join(" ")}\n${stderr}`);
    return stdout + stderr;
  }

  it("is shown, split, answered by a team, graded, distilled and evaluated under the same names", async () => {
    const tools = ["--docs", harbours, "--tools", "web_search,crawl_page"];
    assert.match(await done("show", at("questions.jsonl")), /3 tasks[\s\S]*questions\/0[\s\S]*Ines Aaker/);
    await done("dataset", "split", at("questions.jsonl"), "--validation", "0", "--test", "1");
    await done("team", "run", at("questions.jsonl"), ...tools, "--out", at("runs.jsonl"));
    const runs = (await readFile(at("runs.jsonl"), "utf8"))
      .trim()
      .split("\n")
      .map((text) => JSON.parse(text));
    assert.deepEqual(runs.map(({ taskId }) => taskId).sort(), ["questions/0", "questions/1", "questions/2"]);
    const distil = ["--set", "distill.minInteractions=1", "--set", "distill.keepWithoutReflection=1"];
    assert.match(
      await done(
        "distill",
        "run",
        at("runs.jsonl"),
        "--tasks",
        at("questions.jsonl"),
        ...distil,
        "--out",
        at("chains"),
      ),
      /right: 3 graded/,
    );
    await done("tasks", "recorded", at("runs.jsonl"), "--tasks", at("questions.jsonl"), "--out", at("known.jsonl"));
    assert.match(
      await done(
        "eval",
        "run",
        at("questions.jsonl"),
        "--system",
        "recorded",
        "--runs",
        at("runs.jsonl"),
        "--price",
        "0.4,1.6",
        "--name",
        "t",
      ),
      /3 of 3[\s\S]*per success: .*\$0\.00/,
    );
  });

  it("is what `coa up --tasks` plans with, for documents and for traces", async () => {
    const plan = (...words: string[]) =>
      done("up", ...words, "--tasks", at("questions.jsonl"), "--student", "tiny", "--dry-run");
    assert.match(await plan(harbours), /team run \S*questions\.jsonl/);
    const trace = {
      messages: [
        { role: "user", content: "?" },
        { role: "assistant", content: "1" },
      ],
      usage: emptyUsage(),
    };
    await writeFile(at("traces.jsonl"), `${JSON.stringify(trace)}\n`);
    assert.match(await plan(at("traces.jsonl")), /tasks recorded .*--tasks \S*questions\.jsonl/);
  });

  it("names the row that has no question", async () => {
    await writeFile(at("wrong.jsonl"), '{"answer": "1"}\n');
    await assert.rejects(coa("team", "run", at("wrong.jsonl")), /wrong, row 1: no question in it \(fields: answer\)/);
  });
});
