/** `coa up`: from documents or traces to a compared model in one command, which says what it costs, and continues after whatever stopped it. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { coa } from "./fixtures/run-coa.ts";
import { startScriptedLlm } from "./fixtures/scripted-llm.ts";
import { coaToItsEnd, docs, folder, tiny, traces } from "./fixtures/up-inputs.ts";

describe("coa up <documents>", () => {
  it("prints the plan and the estimate, and spends nothing with --dry-run", async () => {
    const llm = await startScriptedLlm();
    try {
      const up = ["up", docs, "--base-url", llm.url, "--price", "1,2", "--dry-run"];
      const { code, stdout, stderr } = await coaToItsEnd(up);
      assert.equal(code, 0, stderr);
      for (const step of [
        "index build",
        "tasks generate",
        "team run",
        "distill run",
        "dataset build",
        "model new",
        "train sft",
        "eval run",
        "eval compare",
      ])
        assert.match(stdout, new RegExp(`\\$ coa ${step}`));
      assert.match(
        stderr,
        /about \$0\.\d+\.[\s\S]*questions: about \d+ model calls[\s\S]*team: about \d+ model calls[\s\S]*training: about/,
      );
      assert.match(stderr, /a small new model from scratch\. It learns this workspace's format/);
      assert.equal(llm.calls(), 0);
      const planned = JSON.parse((await coaToItsEnd([...up, "--json"])).stdout) as {
        steps: { command: string }[];
        estimate: { usd: number };
      };
      assert.ok(planned.steps.length > 8 && planned.estimate.usd > 0);
    } finally {
      await llm.close();
    }
  });

  it("refuses a limit in money without prices, and one below the estimate", async () => {
    const up = ["up", docs, "--base-url", "http://127.0.0.1:9/v1", ...tiny];
    assert.match(
      (await coaToItsEnd([...up, "--max-usd", "1"])).stderr,
      /--max-usd needs to know what tokens cost.*--price.*coa\.config\.ts/,
    );
    const { stderr } = await coaToItsEnd([...up, "--max-usd", "0.001", "--price", "10,30"]);
    assert.match(stderr, /more than --max-usd 0\.001: ask fewer questions/);
  });

  it("goes the whole way, stops at Ctrl-C and at a wrong key, and continues by the same command", async () => {
    const stop = new AbortController();
    let key = "right";
    const llm = await startScriptedLlm({
      status: (call) => {
        if (call === 12) stop.abort();
        return key === "wrong" ? 401 : undefined;
      },
    });
    try {
      const up = ["up", docs, "--base-url", llm.url, "--questions", "6", "--price", "1,2", "--max-usd", "5", ...tiny];
      const stopped = await coaToItsEnd(up, stop.signal);
      assert.match(stopped.stderr, /Stopped in step "(?:tasks|team)"\. What is done is kept; continue with: coa up/);
      key = "wrong";
      const refused = await coaToItsEnd(up);
      assert.equal(refused.code, -1);
      assert.match(refused.stderr, /Check the key \(OPENAI_API_KEY\) and start again/);
      key = "right";
      const { code, stdout, stderr } = await coaToItsEnd(up);
      assert.equal(code, 0, stderr);
      assert.match(stderr, /1\. index: done before/);
      assert.match(stderr, /Spent so far: \$0\.0/);
      assert.match(stdout, /next: coa serve --model .*sft.model --docs/);
      const home = process.env["COA_HOME"]!;
      assert.ok(existsSync(join(home, "up-docs", "report.html")));
      const use = JSON.parse(await readFile(join(home, "up-docs", "tiny", "sft", "model", "coa.json"), "utf8"));
      assert.deepEqual(
        [use.question, use.language.profile.style.layout, use.language.tools.length],
        ["bare", "compact", 2],
      );
      const calls = llm.calls();
      const again = await coaToItsEnd(up);
      assert.equal(again.code, 0, again.stderr);
      assert.equal(llm.calls(), calls, "what is done is paid for once");
      assert.doesNotMatch(again.stderr, /\$ coa /);
      // Another student learns from the same runs and stands beside the first.
      const second = await coaToItsEnd(up.map((word) => (word === "tiny" ? "small" : word)));
      assert.equal(second.code, 0, second.stderr);
      assert.equal(llm.calls(), calls, "the team is paid for once");
      assert.match(second.stderr, /\$ coa eval compare docs-team docs-model-alone docs-tiny docs-small /);
      assert.ok(existsSync(join(home, "up-docs", "tiny", "sft", "model", "model.safetensors")));
      // Other documents in a folder of the same name are other work, and leave the first index alone.
      const index = await readFile(join(home, "index", "docs", "index.json"), "utf8").catch(() => "");
      const others = join(folder, "elsewhere", "docs");
      mkdirSync(others, { recursive: true });
      await writeFile(join(others, "x.md"), "# Xanten\n\nThe harbour master of Xanten is Udo Rehm.\n");
      const other = up.map((word) => (word === docs ? others : word));
      const third = JSON.parse((await coaToItsEnd([...other, "--dry-run", "--json"])).stdout) as { folder: string };
      assert.match(third.folder, /up-docs-[0-9a-f]{6}$/);
      assert.equal((await coaToItsEnd(["index", "build", others])).code, 0);
      assert.equal(await readFile(join(home, "index", "docs", "index.json"), "utf8").catch(() => ""), index);
    } finally {
      await llm.close();
    }
  });
});

describe("coa tasks recorded", () => {
  it("takes a judge's word before an assumption, and a file of tasks before both", async () => {
    const llm = await startScriptedLlm();
    const bare = join(folder, "judged.jsonl");
    const lines = (await readFile(traces, "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    await writeFile(bare, lines.map(({ score: _, ...line }) => `${JSON.stringify(line)}\n`).join(""));
    const tasks = join(folder, "golds.jsonl");
    await writeFile(
      tasks,
      `${JSON.stringify({ version: 1, id: "g", kind: "qa", question: "When does the last ferry leave Belmora?", answers: ["19:00"] })}\n`,
    );
    try {
      const runs = join(folder, "runs.jsonl");
      await coaToItsEnd(["record", "import", bare, "--out", runs, "--replace"]);
      const judged = [
        "tasks",
        "recorded",
        runs,
        "--tasks",
        tasks,
        "--judge-url",
        llm.url,
        "--assume-right",
        "--out",
        join(folder, "t.jsonl"),
      ];
      const { stdout, stderr } = await coaToItsEnd([...judged, "--json"]);
      assert.deepEqual(JSON.parse(stdout).right, { "task file": 1, judge: 23 }, stderr);
    } finally {
      await llm.close();
    }
  });
});

describe("coa up where something is wrong", () => {
  it("names a wrong flag, a missing file, a broken line and a model that is not there", async () => {
    assert.match((await coaToItsEnd(["up", docs, "--dry-rum"])).stderr, /no flag --dry-rum: did you mean --dry-run\?/);
    assert.match(
      (await coaToItsEnd(["up", join(folder, "none")])).stderr,
      /none does not exist: coa up needs a folder of documents, or traces/,
    );
    assert.match(
      (await coaToItsEnd(["up", docs])).stderr,
      /no model to write questions and play the team: give --base-url/,
    );
    assert.match((await coaToItsEnd(["up", docs, "--student", "./nowhere"])).stderr, /nowhere is not a model folder/);
    const broken = join(folder, "broken.jsonl");
    const text = await readFile(traces, "utf8");
    await writeFile(broken, text.replace('{"id": "desk-3"', '{"id": desk-3'));
    assert.match((await coaToItsEnd(["up", broken, ...tiny])).stderr, /broken\.jsonl:3: neither JSON nor JSONL/);
    await writeFile(broken, text);
    assert.equal((await coaToItsEnd(["up", broken, ...tiny, "--dry-run"])).code, 0);
  });

  it("says in a sentence that the workspace can't be written", async () => {
    const file = join(folder, "file");
    await writeFile(file, "");
    const { systemErrorText } = await import("../src/cli/main.ts");
    process.env["COA_HOME"] = join(file, "below");
    const error = await coa("up", traces, ...tiny).catch((one: unknown) => one);
    assert.match(systemErrorText(error) ?? String(error), /below.*: a part of this path is a file, not a folder/);
  });
});
