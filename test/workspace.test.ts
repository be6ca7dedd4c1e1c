/** A workspace from outside: `coa init`, `coa show`, `coa clean`. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { claimFolder } from "../src/base/files/claim-folder.ts";
import { fileFingerprint } from "../src/base/files/fingerprint.ts";
import { serveStore } from "../src/serve/store/open-store.ts";
import { openSqlite } from "../src/serve/store/sqlite.ts";
import { coa } from "./fixtures/run-coa.ts";

const start = process.cwd();
const home = process.env["COA_HOME"];
let folder = "";

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-workspace-"));
  process.chdir(folder);
  delete process.env["COA_HOME"];
});
after(async () => {
  process.chdir(start);
  if (home !== undefined) process.env["COA_HOME"] = home;
  await rm(folder, { recursive: true, force: true });
});

describe("coa init", () => {
  it("makes what is missing, overwrites nothing, and leaves commands working", async () => {
    assert.match((await coa("show")).stdout, /no workspace .* yet/);
    await writeFile(".env", "MINE=1\n");
    const { made, kept } = JSON.parse((await coa("init", "--json")).stdout);
    assert.deepEqual([made, kept], [["coa.config.ts"], [".env"]]);
    assert.equal(await readFile(".env", "utf8"), "MINE=1\n");
    assert.deepEqual(JSON.parse((await coa("init", "--json")).stdout).made, []);
    assert.equal((await coa("show", "profiles", "--json")).code, 0, "the configuration can be read");
  });
});

describe("coa show and coa clean", () => {
  it("show sizes, lineage and what is stale; delete checkpoints of finished work, caches and expired responses alone", async () => {
    await writeFile("runs.jsonl", "one\n");
    const runs = { role: "runs", path: "runs.jsonl", fingerprint: await fileFingerprint("runs.jsonl") };
    const distilled = await claimFolder(".coa/distilled", { kind: "distillation", configuration: {}, inputs: [runs] });
    await distilled.report({ state: "done", done: 1, total: 1 });
    await distilled.release();
    for (const [name, state] of [
      ["done", "done"],
      ["half", "running"],
    ] as const) {
      const claimed = await claimFolder(`.coa/${name}`, { kind: "training", configuration: {} });
      await claimed.report({ state, done: 1, total: 2 });
      await claimed.release();
      await mkdir(`.coa/${name}/checkpoints/1`, { recursive: true });
      await mkdir(`.coa/${name}/model`);
      await writeFile(`.coa/${name}/checkpoints/1/state`, "x".repeat(5000));
    }
    const recordings = await claimFolder(".coa/recordings", { kind: "recordings", configuration: {} });
    await recordings.release();
    await mkdir(".coa/recordings/cache", { recursive: true });
    await writeFile(".coa/recordings/cache/calls.jsonl", "{}\n");
    await mkdir(".coa/cache");
    await writeFile(".coa/cache/search.jsonl", "{}\n");
    await mkdir(".coa/.dataset.0123abcd.tmp");
    await writeFile(".coa/.dataset.0123abcd.tmp/part", "x");
    await utimes(".coa/.dataset.0123abcd.tmp", 1, 1);
    await mkdir(".coa/serve");
    for (const [id, now] of [
      ["old", () => 1],
      ["new", Date.now],
    ] as const) {
      const store = await serveStore(await openSqlite(".coa/serve/state.sqlite", { now }));
      await store.responses.save({ id, owner: "a", response: {}, input: [] });
      await store.close();
    }

    const before = JSON.parse((await coa("show", "--json")).stdout);
    const entry = (path: string) => before.entries.find((one: { path: string }) => one.path === path);
    assert.deepEqual(entry("distilled").inputs, [{ role: "runs", path: "runs.jsonl" }]);
    assert.deepEqual(entry("distilled").stale, []);
    assert.ok(before.bytes > 10_000 && before.removableBytes > 5000);
    await writeFile("runs.jsonl", "two\n");
    const shown = (await coa("show")).stdout;
    assert.match(shown, /distilled +distillation +stale/);
    assert.match(shown, /stale: distilled: its runs have changed: runs\.jsonl/);
    await rm("runs.jsonl");
    assert.match((await coa("show")).stdout, /stale: distilled: its runs are gone/);

    const planned = JSON.parse((await coa("clean", "--dry-run", "--json")).stdout);
    assert.deepEqual(planned.found.map(({ what }: { what: string }) => what).sort(), [
      "cache",
      "checkpoints",
      "left by an interrupted writer",
    ]);
    assert.ok(existsSync(".coa/done/checkpoints/1/state"), "nothing is deleted yet");
    assert.equal(JSON.parse((await coa("clean", "--json")).stdout).responses, 1);
    assert.deepEqual(
      [
        ".coa/done/checkpoints",
        ".coa/cache",
        ".coa/.dataset.0123abcd.tmp",
        ".coa/half/checkpoints/1/state",
        ".coa/recordings/cache/calls.jsonl",
        ".coa/done/manifest.json",
      ].map((path) => existsSync(path)),
      [false, false, false, true, true, true],
    );
    const store = await serveStore(await openSqlite(".coa/serve/state.sqlite"));
    const left = await Promise.all(["old", "new"].map(async (id) => (await store.responses.find(id, "a"))?.id));
    await store.close();
    assert.deepEqual(left, [undefined, "new"]);
    assert.match((await coa("clean")).stdout, /freed 0 kB/);
  });
});

describe("coa doctor where nothing can be written", () => {
  it("says so and what to do, below a file and below /proc, and returns", async () => {
    await writeFile("file", "");
    for (const place of [join(folder, "file", "below"), "/proc/coa/below"]) {
      process.env["COA_HOME"] = place;
      const { code, stdout } = await coa("doctor", "--json");
      const { findings } = JSON.parse(stdout) as { findings: { what: string; ok: boolean; remedy?: string }[] };
      const disk = findings.find(({ what }) => what === "disk");
      assert.deepEqual([code, disk?.ok, disk?.remedy], [0, false, "set COA_HOME to a folder that can be written"]);
    }
    delete process.env["COA_HOME"];
  });

  it("works in a folder whose file system is read-only", (context) => {
    const script = `mkdir -p "${folder}/ro" && mount -t tmpfs -o ro coa "${folder}/ro" || exit 99; cd "${folder}/ro" && exec "${process.execPath}" "${join(start, "src/cli/main.ts")}" doctor`;
    const { COA_HOME: _, ...env } = process.env;
    const { status, stdout, stderr } = spawnSync("unshare", ["-m", "sh", "-c", script], { encoding: "utf8", env });
    if (status === null || status === 99 || /unshare:/.test(stderr))
      return context.skip("no file system can be mounted here");
    assert.equal(status, 0, stderr);
    assert.match(stdout, /disk .*(?:EROFS|read-only).*set COA_HOME/);
  });
});
