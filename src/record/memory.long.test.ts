import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { after, describe, it } from "node:test";
import { promisify } from "node:util";
import { dayOfCalls, writeLog } from "../../test/fixtures/day-of-calls.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-import-memory-"));
after(() => rm(folder, { recursive: true, force: true }));

const runs = 250;
const filler = "A page about the harbour and its ships. ".repeat(6000);
const at = (n: number) => new Date(Date.UTC(2026, 10, 1) + 1000 * n).toISOString();
const asked = (n: number) => `How old is harbour ${n}?`;
const told = (n: number) => `Harbour ${n} is ${n + 3} years old.`;
const prompt = (n: number) => [{ role: "user", content: asked(n) }];
/** What no run needs makes a record large. */
const metadata = { page: filler };

const langfuse = (n: number) => ({
  id: `t${n}`,
  observations: [
    {
      id: `o${n}`,
      traceId: `t${n}`,
      type: "GENERATION",
      startTime: at(n),
      endTime: at(n + 1),
      input: prompt(n),
      output: told(n),
      metadata,
    },
  ],
});
const smolagents = (n: number) => ({
  id: `t${n}`,
  steps: [
    { task: asked(n) },
    { step_number: 1, model_output: told(n), metadata, is_final_answer: true, action_output: told(n) },
  ],
});

async function written(name: string, texts: Iterable<string>): Promise<string> {
  const file = join(folder, name);
  const stream = createWriteStream(file);
  for (const text of texts) if (!stream.write(text)) await new Promise((done) => stream.once("drain", done));
  await finished(stream.end());
  return file;
}

function* lines(of: (n: number) => object, count = runs): Generator<string> {
  for (let n = 0; n < count; n++) for (const one of [of(n)].flat()) yield `${JSON.stringify(one)}\n`;
}

function* list(of: (n: number) => object): Generator<string> {
  for (let n = 0; n < runs; n++) yield `${n === 0 ? "[\n" : ",\n"}${JSON.stringify(of(n))}`;
  yield "\n]";
}

/** Counts the answered runs of a file in a process that may hold little more than the program itself. */
async function countIn(file: string): Promise<number> {
  const script = `
    import { importRuns } from ${JSON.stringify(join(import.meta.dirname, "import-file.ts"))};
    let count = 0;
    for await (const { answer } of importRuns([process.argv[1]], { memoryBytes: 2 ** 20 })) if (/older|years old/.test(answer)) count++;
    console.log(count);`;
  const heap = "--max-old-space-size=64";
  const { stdout } = await promisify(execFile)(process.execPath, [heap, "--input-type=module", "-e", script, file]);
  return Number(stdout);
}

describe("memory of an import", () => {
  const files: Record<string, () => Promise<string>> = {
    "langfuse lines": () => written("langfuse.jsonl", lines(langfuse)),
    "one langfuse list": () => written("langfuse.json", list(langfuse)),
    smolagents: () => written("smolagents.jsonl", lines(smolagents)),
  };
  for (const [kind, write] of Object.entries(files)) {
    it(`does not grow with the file: ${kind}`, async () => assert.equal(await countIn(await write()), runs));
  }

  it("does not grow with the file: recorded calls", async () => {
    const file = join(folder, "calls-day.jsonl");
    await writeLog(file, dayOfCalls(runs, { everyMs: 250, padding: 9000 }));
    assert.equal(await countIn(file), runs);
  });

  it("does not grow where every user begins alike", async () => {
    const call = (n: number) => ({
      request: {
        messages: [
          ...[
            { role: "user", content: "Hello" },
            { role: "assistant", content: "Hi, what can I do?" },
          ],
          ...prompt(n),
        ],
      },
      response: { id: `r${n}`, choices: [{ message: { content: told(n) }, finish_reason: "stop" }], metadata },
      t: 1000 * n,
    });
    const greeting = (n: number) => ({
      request: { messages: [{ role: "user", content: "Hello" }] },
      response: { id: `h${n}`, choices: [{ message: { content: "Hi, what can I do?" }, finish_reason: "stop" }] },
      t: 1000 * n - 1,
    });
    const both = (n: number) => [greeting(n), call(n)];
    assert.equal(await countIn(await written("wire.jsonl", lines(both))), runs);
  });
});
