/** SIGKILL in every stage of the quickstart, each time continued: the numbers are those of one that nobody disturbed. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";

const root = await mkdtemp(join(tmpdir(), "coa-kill-quickstart-"));
after(() => rm(root, { recursive: true, force: true }));
const target = join(import.meta.dirname, "../fixtures/toy-quickstart.ts");

/** Runs it until the stage tells of its `progress`-th step, or to its end: then what it found. */
async function run(folder: string, stage?: string, progress = 1): Promise<string | undefined> {
  const child = spawn(process.execPath, [target, folder], { stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  let [text, errors] = ["", ""];
  child.stderr.on("data", (chunk) => (errors += String(chunk)));
  child.stdout.on("data", (chunk) => {
    text += String(chunk);
    const seen = text.split("\n").filter((line) => line.startsWith(`${stage} `)).length;
    if (seen >= progress && stage !== undefined) child.kill("SIGKILL");
  });
  await ended;
  const found = /^end (.*)$/m.exec(text)?.[1];
  assert.ok(found !== undefined || child.signalCode === "SIGKILL", errors);
  return found;
}

/** Without what differs from run to run: how long it took, and where its report is. */
const figures = (found: string | undefined) =>
  JSON.parse(found!, (name, value: unknown) => (/seconds|ms$|^page$/i.test(name) ? undefined : value)) as unknown;

describe("a quickstart that is killed", () => {
  it("continues in the stage where it was, and ends with the same numbers", async () => {
    const calm = await run(join(root, "calm"));
    const folder = join(root, "killed");
    let found: string | undefined;
    for (const [stage, progress] of [["team", 1], ["sft", 5], ["rl", 1], ["evaluating", 3]] as const) // biome-ignore format: a table
      found ??= await run(folder, stage, progress);
    assert.equal(found, undefined, "it was killed in every stage");
    assert.deepEqual(figures(await run(folder)), figures(calm));
  });
});
