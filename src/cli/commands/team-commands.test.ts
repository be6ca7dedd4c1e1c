import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { statSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { coa } from "../../../test/fixtures/run-coa.ts";
import { until } from "../../../test/fixtures/until.ts";
import { listWorkspace } from "../../base/files/list-workspace.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { taskSchema } from "../../core/task-schema.ts";
import { type TeamRun, teamRunSchema } from "../../core/team-run.ts";

let folder = "";
const at = (name: string) => join(folder, name);
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-team-"));
});
after(() => rm(folder, { recursive: true }));

describe("coa lab", () => {
  it("writes worlds and tasks, the same every time", async () => {
    for (const name of ["a", "b"])
      assert.equal((await coa("lab", "tasks", "--seed", "8", "--set", "lab.pages=40", "--world", at(name))).code, 0);
    for (const file of ["world.json", "documents.jsonl", "pages/index.html"]) {
      assert.equal(await readFile(at(`a/${file}`), "utf8"), await readFile(at(`b/${file}`), "utf8"));
    }
    const { stdout } = await coa("lab", "tasks", "--seed", "8", "--set", "lab.pages=40", "--count", "10", "--json");
    const tasks = JSON.parse(stdout) as unknown[];
    assert.equal(tasks.map((task) => taskSchema.parse(task)).length, 10);
  });

  it("says what it can't do", async () => {
    await assert.rejects(coa("lab", "tasks", "--split", "dev"), /--split takes train or test, not "dev"/);
    await assert.rejects(coa("lab", "tasks", "--family", "hop7"), /no task family "hop7"/);
    await assert.rejects(coa("lab", "tasks", "--seed", "99999", "--world", at("c")), /whole number from 0 to 20479/);
  });
});

describe("coa team run", () => {
  it("plays lab tasks with scripts, says that they are scripts, and resumes after a kill", async () => {
    const count = 300;
    await coa(
      "lab",
      "tasks",
      "--split",
      "test",
      "--set",
      "lab.pages=200",
      "--count",
      String(count),
      "--out",
      at("tasks.jsonl"),
    );
    const command = ["team", "run", at("tasks.jsonl"), "--scripted", "--fast", "--out", at("runs.jsonl")];
    const child = spawn(process.execPath, [join(import.meta.dirname, "../main.ts"), ...command], { stdio: "ignore" });
    const ended = new Promise((resolve) => child.once("exit", resolve));
    await until(
      () => child.exitCode !== null || (statSync(at("runs.jsonl"), { throwIfNoEntry: false })?.size ?? 0) > 50_000,
    );
    child.kill("SIGKILL");
    await ended;
    // A record counts once its line has ended.
    const before = (await readFile(at("runs.jsonl"), "utf8")).split("\n").length - 1;
    assert.ok(before > 0 && before < count, `${before} runs before the kill`);
    const limited = JSON.parse((await coa(...command, "--limit", "5", "--json")).stdout) as { runs: number };
    assert.equal(limited.runs, before + 5);
    const { code, stdout } = await coa(...command);
    assert.equal(code, 0);
    assert.match(stdout, /solved, of all tasks\s+100\.0 %/);
    assert.match(stdout, /scripted specialists, no LLM; lab tools in memory/);
    const runs = (await readAllJsonl(at("runs.jsonl"), teamRunSchema as never)) as TeamRun[];
    assert.equal(runs.length, count);
    assert.equal(new Set(runs.map((run) => run.taskId)).size, count);
  });

  it("says beside the runs what made them, and refuses to add runs of another team", async () => {
    await coa("lab", "tasks", "--set", "lab.pages=40", "--count", "3", "--out", at("three.jsonl"));
    const command = ["team", "run", at("three.jsonl"), "--scripted", "--fast", "--out", at("three-runs.jsonl")];
    assert.equal((await coa(...command, "--limit", "2")).code, 0);
    await assert.rejects(
      coa(...command, "--topology", "handoff"),
      /three-runs\.jsonl belongs to other work: topology was "agents-as-tools", is "handoff"/,
    );
    assert.equal((await coa(...command)).code, 0);
    const entry = (await listWorkspace(folder)).find(({ path }) => path === "three-runs.jsonl");
    assert.ok(entry && "manifest" in entry);
    assert.equal(entry.manifest.kind, "team-runs");
    assert.deepEqual(entry.manifest.inputs, [{ role: "tasks", path: at("three.jsonl"), records: 3 }]);
    assert.equal(entry.manifest.progress.state, "done");
    assert.deepEqual(entry.manifest.progress.figures, { solved: 1 });
  });

  it("refuses tasks that scripts can't play, and to start without a model", async () => {
    await writeFile(at("other.jsonl"), '{"version":1,"id":"x","question":"Who?","kind":"qa","answers":[]}\n');
    await assert.rejects(
      coa("team", "run", at("other.jsonl"), "--scripted", "--out", at("o.jsonl")),
      /for lab tasks only, and x is not one/,
    );
    const saved = { url: process.env["OPENAI_BASE_URL"], key: process.env["OPENAI_API_KEY"] };
    delete process.env["OPENAI_BASE_URL"];
    delete process.env["OPENAI_API_KEY"];
    await assert.rejects(coa("team", "run", at("other.jsonl"), "--out", at("p.jsonl")), /no model to play the roles/);
    if (saved.url) process.env["OPENAI_BASE_URL"] = saved.url;
    if (saved.key) process.env["OPENAI_API_KEY"] = saved.key;
    await assert.rejects(readFile(at("p.jsonl")), /ENOENT/);
  });
});

describe("coa tasks", () => {
  it("generates tasks from documents and keeps those that the model does not know by heart", async () => {
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => (body += chunk));
      request.on("end", () => {
        const content =
          request.method === "GET"
            ? ""
            : (JSON.parse(body) as { messages: { content: string }[] }).messages[1]!.content;
        const tasks = [
          {
            question: "How deep is Lake Orm?",
            answer: "93 metres",
            subject: "Lake Orm",
            evidence: "Lake Orm is 93 metres deep.",
          },
          {
            question: "Which land is Lake Orm in?",
            answer: "Vell",
            subject: "Lake Orm",
            evidence: "Lake Orm lies in Vell.",
          },
        ];
        const reply = content.startsWith("Text")
          ? JSON.stringify({ tasks })
          : content.startsWith("Which")
            ? "Vell"
            : "12 metres";
        const choices = [{ index: 0, message: { role: "assistant", content: reply }, finish_reason: "stop" }];
        response.setHeader("content-type", "application/json");
        response.end(
          JSON.stringify({ id: "1", choices, data: [{ id: "m" }], usage: { prompt_tokens: 1, completion_tokens: 1 } }),
        );
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    try {
      await writeFile(
        at("docs.jsonl"),
        '{"id":"a","title":"Lake Orm","text":"Lake Orm is 93 metres deep. Lake Orm lies in Vell."}\n',
      );
      const flags = ["--base-url", url, "--model", "m", "--json"];
      const made = await coa(
        "tasks",
        "generate",
        at("docs.jsonl"),
        "--set",
        "tasks.width=0",
        "--out",
        at("made.jsonl"),
        ...flags,
      );
      assert.deepEqual(JSON.parse(made.stdout), {
        file: at("made.jsonl"),
        tasks: 2,
        rejected: { "no other document mentions Lake Orm": 2 },
      });
      const select = ["tasks", "select", at("made.jsonl"), "--base-url", url, "--without-tools", "m", "--samples", "4"];
      const checked = await coa(...select, "--out", at("good.jsonl"), "--json");
      const { reasons } = JSON.parse(checked.stdout) as { reasons: Record<string, number> };
      assert.deepEqual(reasons, { informative: 1, "answered without tools in … % of the tries": 1 });
      assert.match(await readFile(at("good.jsonl"), "utf8"), /How deep is Lake Orm/);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
});
