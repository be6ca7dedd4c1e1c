/**
 * Every command that writes, where nothing can be written and where the disk is full: one plain sentence, exit code 1, and
 * the same command works once there is room. A file system of its own is mounted for it, gone with the shell.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";

const root = await mkdtemp(join(tmpdir(), "coa-disk-"));
after(() => rm(root, { recursive: true, force: true }));
const place = join(root, "place");
const made = join(root, "made");
const target = join(import.meta.dirname, "../fixtures/commands-target.ts");

const usage = { modelCalls: 1, promptTokens: 9, completionTokens: 1, cachedTokens: 0, billedTokens: 10, computedTokens: 10, toolCalls: 0, toolMs: 0, wallMs: 1, costUsd: 0 }; // biome-ignore format: one empty use
const system = `export default { name: "toy", async run() {
  return { answer: "x", ending: { reason: "answered" }, usage: ${JSON.stringify(usage)}, toolCalls: {}, tokensByRole: {} };
} };\n`;

/** What each command writes into `folder`, from what earlier ones made in `made`. */
const commandsInto = (folder: string): string[][] => [
  ["lab", "tasks", "--seed", "7", "--set", "lab.pages=20", "--world", join(folder, "world")],
  ["lab", "tasks", "--seed", "7", "--count", "6", "--out", join(folder, "tasks.jsonl")],
  ["team", "run", join(made, "tasks.jsonl"), "--scripted", "--fast", "--out", join(folder, "runs.jsonl")],
  ["distill", "run", join(made, "runs.jsonl"), "--tasks", join(made, "tasks.jsonl"), "--set", "distill.nearDuplicates=1.1", "--out", join(folder, "distilled")],
  ["dataset", "build", join(made, "distilled", "trajectories.jsonl"), "--vocabulary", "420", "--out", join(folder, "dataset")],
  ["dataset", "export", join(made, "distilled", "trajectories.jsonl"), "--format", "chat", "--out", join(folder, "exported.jsonl")],
  ["model", "new", join(folder, "model"), "--vocabulary", "420", "--hidden", "32", "--layers", "1", "--heads", "1"],
  ["index", "build", join(made, "world", "documents.jsonl"), "--out", join(folder, "index")],
  ["eval", "run", join(made, "tasks.jsonl"), "--system", join(root, "system.mjs")],
  ["quickstart", "--fast", "--out", join(folder, "quickstart")],
]; // biome-ignore format: one command a line

interface Ended {
  command: string;
  code: number;
  said: string;
}

const read = (stdout: string) => stdout.trim().split("\n").map((line) => JSON.parse(line) as Ended); // biome-ignore format: short
const run = (commands: string[][]) => `"${process.execPath}" "${target}" '${JSON.stringify(commands)}'`;

/** Runs a script in a mount space of its own; undefined where that can't be had. */
function mounted(context: TestContext, script: string): string | undefined {
  const env = { ...process.env, COA_HOME: join(place, "home") };
  const { status, stdout, stderr } = spawnSync("unshare", ["-m", "sh", "-c", script], { encoding: "utf8", env });
  if (status === null || status === 99 || /unshare:/.test(stderr)) {
    context.skip("no file system can be mounted here");
    return undefined;
  }
  assert.equal(status, 0, stderr);
  return stdout;
}

describe("commands that write", () => {
  before(async () => {
    await writeFile(join(root, "system.mjs"), system);
    const commands = commandsInto(made).slice(0, -1);
    const { stdout } = spawnSync("sh", ["-c", run(commands)], { encoding: "utf8", env: { ...process.env, COA_HOME: join(root, "home") } }); // biome-ignore format: one call
    for (const { command, code, said } of read(stdout)) assert.equal(code, 0, `${command}: ${said}`);
  });

  it("say plainly that a folder is read-only", (context) => {
    const stdout = mounted(
      context,
      `mkdir -p "${place}" && mount -t tmpfs -o ro coa "${place}" || exit 99; ${run(commandsInto(place))}`,
    );
    if (stdout === undefined) return;
    for (const { command, code, said } of read(stdout)) {
      assert.equal(code, 1, `${command}: ${said}`);
      assert.match(said, /can't be (?:written, its file system is read-only|made): use another folder/, command);
    }
  });

  it("say plainly that the disk is full, and work again once there is room", (context) => {
    const commands = commandsInto(place).slice(0, -1); // the quickstart needs a model's room and time
    const stdout = mounted(
      context,
      `mkdir -p "${place}" && mount -t tmpfs -o size=256k coa "${place}" || exit 99; head -c 250000 /dev/zero > "${place}/filler"
      ${run(commands)}; echo; rm "${place}/filler"; mount -o remount,size=64m "${place}"; ${run(commands)}`,
    );
    if (stdout === undefined) return;
    const [full, roomy] = stdout.split("\n\n").map(read);
    for (const { command, code, said } of full!) {
      assert.notEqual(code, 2, `${command}: ${said}`);
      if (code !== 0) assert.match(said, /the disk is full .*Make room and run the same command again/, command);
    }
    assert.ok(full!.filter(({ code }) => code === 1).length >= 6, JSON.stringify(full));
    for (const { command, code, said } of roomy!) assert.equal(code, 0, `${command} once there is room: ${said}`);
  });
});
