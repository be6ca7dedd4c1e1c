/** What a new user met with their own documents, keys and models; each was a dead end once. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type ModelServer, startModelServer } from "./fixtures/model-server.ts";
import { coa } from "./fixtures/run-coa.ts";
import { startScriptedLlm } from "./fixtures/scripted-llm.ts";

const root = join(import.meta.dirname, "..");
const saved = { ...process.env };
let folder = "";
let docs = "";

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-first-"));
  docs = join(folder, "docs");
  await mkdir(docs);
  for (const town of ["belmora", "castrin"])
    await cp(join(root, "docs/tutorials/harbours", `${town}.md`), join(docs, `${town}.md`));
  await writeFile(join(docs, "broken.pdf"), "%PDF-1.4 this is not a PDF");
  process.env["COA_HOME"] = join(folder, "home");
  for (const name of ["OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL"]) delete process.env[name];
});
after(async () => {
  for (const name of Object.keys(process.env)) if (!(name in saved)) delete process.env[name];
  Object.assign(process.env, saved);
  await rm(folder, { recursive: true, force: true });
});

describe("own documents", () => {
  let server: ModelServer;
  before(async () => {
    server = await startModelServer({
      models: { data: [{ id: "m", owned_by: "vllm" }] },
      keepStop: true,
      answer: ({ body }) => {
        const seen = JSON.stringify(body["messages"]);
        if (seen.includes("Page 1 [coa://docs/docs/belmora.md]"))
          return "<think>there</think><suggested_answer>Ines Aaker</suggested_answer><think>fits</think><double_check>The score this time is:4</double_check><answer>Ines Aaker</answer>";
        return seen.includes("coa://docs/docs/belmora.md")
          ? "<think>read it</think><crawl_page>coa://docs/docs/belmora.md</crawl_page>"
          : "<think>search</think><plan>search, read</plan><think>go</think><web_search>Belmora harbour master</web_search>";
      },
    });
  });
  after(() => server.close());

  it("are searched and read by one command without a web key; the hint leads to the page", async () => {
    const question = "What is the harbour master of Belmora?";
    const { code, stdout, stderr } = await coa("ask", question, "--docs", docs, "--base-url", server.url, "--json");
    assert.equal(code, 0, stderr);
    const { answer, segments } = JSON.parse(stdout) as { answer: string; segments: { tag: string; text: string }[] };
    assert.equal(answer, "Ines Aaker");
    assert.match(segments.findLast(({ tag }) => tag === "observation")!.text, /Its harbour master is Ines Aaker/);
    assert.ok(!stdout.includes(folder) && !stdout.includes("file:"), "no path of this machine");
  });

  it("one unreadable file of a folder is named and stops nothing, in index build and in tasks generate", async () => {
    const built = await coa("index", "build", docs, "--json");
    assert.deepEqual([built.code, JSON.parse(built.stdout).skipped], [0, 1]);
    assert.match(built.stderr, /skipped: .*broken\.pdf/);
    const llm = await startScriptedLlm();
    try {
      const tasks = join(folder, "tasks.jsonl");
      const made = await coa("tasks", "generate", docs, "--base-url", llm.url, "--out", tasks, "--json");
      assert.deepEqual([made.code, JSON.parse(made.stdout).tasks], [0, 4], made.stderr);
      assert.ok(!(await readFile(tasks, "utf8")).includes(folder));
    } finally {
      await llm.close();
    }
  });
});

describe("without a key", () => {
  const run = (args: string[], input?: string) =>
    spawnSync(process.execPath, [join(root, "src/cli/main.ts"), ...args], {
      cwd: folder,
      encoding: "utf8",
      input,
      env: { PATH: process.env["PATH"] },
    });

  it("no toy model answers a question of the real world, and a question from a pipe is read", () => {
    const { status, stderr, stdout } = run(["ask", "--quiet"], "What is the capital of France?\n");
    assert.equal(status, 2);
    assert.equal(stdout, "");
    assert.match(stderr, /no model: give --model <folder or name>, or --base-url <url>/);
    assert.doesNotMatch(stderr, /needs a question/);
  });

  it("a wrong address is blamed on the address, and not on OPENAI_MODEL", () => {
    const { status, stderr } = run(["ask", "Who?", "--base-url", "http://127.0.0.1:9/v1"]);
    assert.equal(status, 1);
    const last = stderr.trim().split("\n").at(-1)!;
    assert.match(last, /127\.0\.0\.1:9/);
    assert.doesNotMatch(last, /^coa: .*OPENAI_MODEL is/);
  });
});

describe("training", () => {
  const chain = {
    version: 1,
    id: "c",
    taskId: "t",
    profile: "web",
    model: "m",
    prompt: [{ role: "user", content: "Who?" }],
    answer: "Ada",
    ending: { reason: "answered" },
    violations: [],
    source: { kind: "distilled", id: "r" },
  };
  const usage = {
    modelCalls: 1,
    promptTokens: 1,
    completionTokens: 1,
    cachedTokens: 0,
    reasoningTokens: 0,
    billedTokens: 2,
    computedTokens: 2,
    toolCalls: 0,
    toolMs: 0,
    wallMs: 0,
    costUsd: 0,
  };
  const lines = Array.from({ length: 4 }, (_, index) =>
    JSON.stringify({
      ...chain,
      id: `c${index}`,
      usage,
      segments: [
        { tag: "think", by: "model", text: "It is known. ".repeat(index === 3 ? 80 : 4) },
        { tag: "answer", by: "model", text: "Ada" },
      ],
    }),
  );

  const newModel = (model: string, data: string, context: string) => {
    const size = ["--hidden", "16", "--layers", "1", "--heads", "1", "--context", context];
    return coa("model", "new", model, "--tokenizer", join(data, "tokenizer"), ...size);
  };

  it("refuses an example longer than the context before the first step, and says what would fit", async () => {
    const file = join(folder, "chains.jsonl");
    await writeFile(file, `${lines.join("\n")}\n`);
    const [data, model, out] = [join(folder, "data"), join(folder, "short-model"), join(folder, "run")];
    assert.equal((await coa("dataset", "build", file, "--vocabulary", "300", "--out", data)).code, 0);
    await newModel(model, data, "100");
    await assert.rejects(
      coa("train", "sft", data, "--model", model, "--out", out, "--steps", "5"),
      /the longest example has \d+ tokens, the model's context is 100: build the dataset with --max-tokens 100/,
    );
    await assert.rejects(readFile(join(out, "metrics.jsonl")), /ENOENT/);
  });

  it("measures what training would take on a dry run, and trains nothing", async () => {
    const [data, model, out] = [join(folder, "data"), join(folder, "tried"), join(folder, "dry-run")];
    await newModel(model, data, "2048");
    const before = await readFile(join(model, "model.safetensors"));
    const { code, stdout } = await coa(
      "train",
      "sft",
      data,
      "--model",
      model,
      "--out",
      out,
      "--steps",
      "50",
      "--dry-run",
      "--json",
    );
    assert.equal(code, 0);
    const cost = JSON.parse(stdout) as Record<string, number>;
    assert.equal(cost["steps"], 50);
    assert.ok(cost["peakBytes"]! > 5e7 && cost["tokensPerSecond"]! > 0 && cost["minutes"]! > 0, stdout);
    assert.deepEqual(await readFile(join(model, "model.safetensors")), before);
    await assert.rejects(readFile(join(out, "metrics.jsonl")), /ENOENT/);
  });

  it("says and exits 1 where nothing was learned, and says what it chose where nothing was told", async () => {
    const [data, model] = [join(folder, "data"), join(folder, "model")];
    await newModel(model, data, "2048");
    const still = await coa(
      "train",
      "sft",
      data,
      "--model",
      model,
      "--out",
      join(folder, "still"),
      "--steps",
      "20",
      "--rate",
      "0",
      "--set",
      "train.heldOut=0",
    );
    assert.equal(still.code, 1);
    assert.match(still.stderr, /The loss did not fall .* so nothing was learned/);
    const { code, stderr } = await coa(
      "train",
      "sft",
      data,
      "--model",
      model,
      "--out",
      join(folder, "learns"),
      "--steps",
      "20",
      "--set",
      "train.heldOut=0",
    );
    assert.equal(code, 0, stderr);
    assert.match(stderr, /Muon at rates .* for a small model from scratch/);
  });
});
