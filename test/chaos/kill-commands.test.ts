/**
 * Commands that are killed without a warning: whatever had been answered before is on disk, files are whole, and the same
 * command works again in the same place. A few rounds here, more in the long tier.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { type BadLine, readAllJsonl } from "../../src/base/files/read-jsonl.ts";
import { seededRandom } from "../../src/base/work/random.ts";
import { readRecordings } from "../../src/record/recordings.ts";
import { startModelServer } from "../fixtures/model-server.ts";
import { testSize } from "../fixtures/test-size.ts";

const root = await mkdtemp(join(tmpdir(), "coa-killed-"));
after(() => rm(root, { recursive: true, force: true }));
const main = join(import.meta.dirname, "../../src/cli/main.ts");
const rounds = testSize(2, 12);

const ended = (child: ChildProcess) => new Promise((resolve) => child.once("close", resolve));

/** The lines that a child prints, until it ends. */
async function* linesOf(child: ChildProcess): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of child.stdout!) {
    const lines = (rest + String(chunk)).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}

describe("a command that is killed", () => {
  it("record run: every call that the program went on from is recorded, and the next run is recorded too", async () => {
    const server = await startModelServer({
      answer: ({ body }) => `echo ${(body as { messages: { content: string }[] }).messages.at(-1)!.content}`,
    });
    const app = join(root, "app.mjs");
    await writeFile(
      app,
      `for (let n = 0; n < Number(process.argv[2]); n++) {
  const response = await fetch(process.env.BASE + "/chat/completions", { method: "POST", headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "call " + n }] }) });
  await response.json();
  console.log(process.pid, n);
}`,
    );
    const random = seededRandom("record run").next;
    try {
      for (let round = 0; round < rounds; round++) {
        const folder = join(root, `recorded-${round}`);
        const start = (calls: number) =>
          spawn(
            process.execPath,
            [main, "record", "run", "--folder", folder, "--", process.execPath, app, String(calls)],
            {
              env: { ...process.env, BASE: server.url },
              stdio: ["ignore", "pipe", "ignore"],
            },
          );
        const killAt = 1 + Math.floor(random() * 6);
        const child = start(1_000);
        let answered = 0;
        for await (const line of linesOf(child)) {
          const pid = Number(/^(\d+) \d+$/.exec(line)?.[1]);
          if (!Number.isInteger(pid)) continue;
          if (answered++ < killAt) continue;
          process.kill(pid, "SIGKILL"); // the program that records
          child.kill("SIGKILL");
          break;
        }
        await ended(child);
        const calm = start(2);
        child.stdout?.destroy();
        for await (const _ of linesOf(calm));
        const bad: BadLine[] = [];
        const runs = await readRecordings(folder, { onBad: (line) => bad.push(line) });
        assert.deepEqual(bad, []);
        const questions = runs.flatMap((run) => Object.values(run.messages).map(({ content }) => content));
        for (let n = 0; n < answered - 1; n++)
          assert.ok(questions.includes(`call ${n}`), `round ${round}: call ${n} of ${answered} is lost`);
        assert.equal(questions.filter((content) => content === "call 0").length, 2, "the second run was recorded");
      }
    } finally {
      await server.close();
    }
  });

  it("serve: responses that were given are still there for the next process", async () => {
    const home = join(root, "serve-home");
    const keep = join(root, "kept.jsonl");
    let previous: string | undefined;
    let given = 0;
    for (let round = 0; round < Math.min(rounds, 4); round++) {
      const child = spawn(process.execPath, [main, "serve", "--lab", "7", "--port", "0", "--keep", keep, "--json"], {
        env: { ...process.env, COA_HOME: home },
        stdio: ["ignore", "pipe", "inherit"],
      });
      try {
        let origin = "";
        for await (const line of linesOf(child)) {
          origin = (JSON.parse(line) as { ready: string }).ready;
          break;
        }
        if (previous !== undefined) {
          const kept = await fetch(`${origin}/v1/responses/${previous}`);
          assert.equal(kept.status, 200, `round ${round}: the response is gone`);
          assert.equal(((await kept.json()) as { status: string }).status, "completed");
        }
        const answer = await fetch(`${origin}/v1/responses`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ model: "afm-lab-2m", input: "What is 12 plus 30?", store: true }),
        });
        assert.equal(answer.status, 200, await answer.clone().text());
        previous = ((await answer.json()) as { id: string }).id;
        given++;
        void fetch(`${origin}/v1/responses`, {
          method: "POST",
          body: JSON.stringify({ model: "afm-lab-2m", input: "x" }),
        }).catch(() => {});
      } finally {
        child.kill("SIGKILL");
        child.stdout.destroy();
        await ended(child);
      }
      const bad: BadLine[] = [];
      const chains = await readAllJsonl(keep, undefined, { onBad: (line) => bad.push(line) });
      assert.deepEqual(bad, []);
      assert.ok(chains.length >= given, `${chains.length} of ${given} served chains were kept`);
    }
  });
});
