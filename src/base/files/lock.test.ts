import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { acquireLock } from "./lock.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-lock-"));
after(() => rm(folder, { recursive: true, force: true }));
let count = 0;
const fresh = () => join(folder, `lock-${count++}`);
const dead = { pid: 2 ** 22 + 1, host: hostname(), startedAt: "1" };

describe("acquireLock", () => {
  it("refuses a second owner, says who holds it, and is free after its release", async () => {
    const path = fresh();
    const lock = await acquireLock(path);
    await assert.rejects(acquireLock(path), new RegExp(`held by process ${process.pid} on `));
    await assert.rejects(acquireLock(path), ({ message }: Error) => !/killed/.test(message));
    await lock.release();
    await (await acquireLock(path)).release();
    assert.ok(!(await readdir(folder)).some((name) => name.startsWith(path.split("/").at(-1)!)));
  });

  it("takes over from a dead process, a machine that was started anew and a lock without an owner", async () => {
    const mine = { ...dead, pid: process.pid, startedAt: "" };
    for (const text of [JSON.stringify(dead), JSON.stringify({ ...mine, boot: "another start" }), "", "{"]) {
      const path = fresh();
      await writeFile(path, text);
      await (await acquireLock(path)).release();
    }
  });

  it("takes over from a host that vanished, and not from one that renews its lock", async () => {
    const path = fresh();
    await writeFile(path, JSON.stringify({ ...dead, host: "gone.example" }));
    const said = /held by process \d+ on gone\.example: .* If it was killed, its lock ends by itself 120 s after/;
    await assert.rejects(acquireLock(path), said);
    const longAgo = new Date(Date.now() - 3_600_000);
    await utimes(path, longAgo, longAgo);
    await (await acquireLock(path)).release();
    // A clock that jumped: a lock from the future is not held forever either.
    await writeFile(path, JSON.stringify({ ...dead, host: "gone.example" }));
    const later = new Date(Date.now() + 36_000_000);
    await utimes(path, later, later);
    await (await acquireLock(path)).release();
  });

  it("takes over from a rescuer that died while it removed a dead lock", async () => {
    const path = fresh();
    const text = JSON.stringify(dead);
    await writeFile(path, text);
    const { createHash } = await import("node:crypto");
    const guard = `${path}.${createHash("sha256").update(text).digest("hex").slice(0, 16)}.guard`;
    await writeFile(guard, JSON.stringify({ ...dead, id: "rescuer" }));
    await (await acquireLock(path)).release();
  });

  it("never has two owners, when many processes find a dead one's lock", async () => {
    const path = fresh();
    const script = join(import.meta.dirname, "../../../test/fixtures/lock-target.ts");
    const rounds = Number(process.env["COA_LOCK_ROUNDS"] ?? 40);
    const children = Array.from({ length: 6 }, (_, index) => {
      const child = spawn(process.execPath, [script, path, String(rounds), String(index)], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      let text = "";
      child.stdout.on("data", (chunk) => {
        text += chunk;
      });
      return new Promise<{ code: number | null; text: string }>((resolve) =>
        child.on("close", (code) => resolve({ code, text })),
      );
    });
    const ended = await Promise.all(children);
    assert.deepEqual(
      ended.map(({ code }) => code),
      ended.map(() => 0),
      ended.map(({ text }) => text).join(""),
    );
    const taken = ended.reduce((sum, { text }) => sum + Number(/taken (\d+)/.exec(text)?.[1] ?? 0), 0);
    assert.ok(taken >= rounds, `the lock was taken ${taken} times`);
  });
});
