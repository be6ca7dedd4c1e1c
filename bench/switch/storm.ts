/**
 * Switching over while clients ask: a canary is given a share, the server is killed and started again, the old system goes down, the
 * canary is rolled back. Two versions answer in ways that can't be confused: the live one always by the model, the canary always by
 * the old system. Every reply is held against what was in force when its request was sent.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { listen } from "../../src/base/http/listen.ts";
import { modelFingerprint } from "../../src/engines/embedded/files/model-fingerprint.ts";
import { writeCascade } from "../../src/switch/cascade.ts";
import { madeCascade } from "../../test/fixtures/made-switch.ts";
import { freePort } from "../../test/fixtures/postgres.ts";

const root = join(import.meta.dirname, "../..");
const main = join(root, "src/cli/main.ts");

export interface Storm {
  phases: Record<string, { answered: number; refused: number; cut: number }>;
  /** Replies of a version that was not in force for the conversation, or that came another way than its version answers. */
  wrong: string[];
  /** Answers that the model gave without saying so where the old system had to be asked. */
  silent: string[];
  /** Conversations that the canary had before the kill, and that still were its own after it. */
  canary: { before: number; after: number };
}

/** Runs all phases; in each, every client asks `requests` times in conversations of its own. */
export async function storm({ clients, requests }: { clients: number; requests: number }): Promise<Storm> {
  const folder = await mkdtemp(join(tmpdir(), "coa-storm-"));
  let [up, wasDown] = [true, false];
  const old = await listen(async ({ method, read }, reply) => {
    const json = { "content-type": "application/json" };
    if (method === "GET") return reply.send(200, JSON.stringify({ data: [{ id: "old" }] }), json);
    await read(2 ** 20);
    const message = { role: "assistant", content: "from the old system" };
    const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };
    const body = up
      ? { choices: [{ index: 0, message, finish_reason: "stop" }], usage }
      : { error: { message: "down" } };
    return reply.send(up ? 200 : 400, JSON.stringify(body), json);
  });
  const coa = async (...args: string[]) => {
    const [code] = await once(spawn(process.execPath, [main, ...args], { cwd: folder, stdio: "ignore" }), "exit");
    if (code !== 0) throw new Error(`coa ${args.join(" ")}: ${code}`);
  };
  await mkdir(join(folder, ".coa", "models"), { recursive: true });
  for (const [name, threshold] of [["sure", -1e9], ["unsure", 1e9]] as const) {
    const at = join(folder, ".coa", "models", name);
    await cp(join(root, "weights", "afm-lab-2m"), at, { recursive: true });
    await writeCascade(at, { ...madeCascade(), model: await modelFingerprint(at), threshold });
  } // biome-ignore format: two versions
  await coa("promote", "sure");

  const port = await freePort();
  const start = async (): Promise<ChildProcess> => {
    const args = ["serve", "--model", "live", "--lab", "7", "--fallback", `${old.origin}/v1`, "--cascade", "--audit", "0.001%", "--keep", "kept.jsonl", "--port", String(port), "--set", "server.graceSeconds=0", "--set", "serve.maxQueue=1000", "--json"]; // biome-ignore format: one command
    const child = spawn(process.execPath, [main, ...args], { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
    await once(createInterface(child.stdout!), "line");
    return child;
  };
  let server = await start();

  const result: Storm = { phases: {}, wrong: [], silent: [], canary: { before: 0, after: 0 } };
  /** The version of each conversation, as its last reply said. */
  const versions = new Map<string, string>();
  const ways: Record<string, string> = { sure: "model", unsure: "old" };

  /** One question of a conversation; `allowed` are the versions that may answer. */
  async function ask(conversation: string, phase: Storm["phases"][string], allowed: readonly string[]): Promise<void> {
    const body = JSON.stringify({ messages: [{ role: "user", content: conversation }] });
    const headers = { "content-type": "application/json" };
    for (;;) {
      const reply = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, { method: "POST", headers, body }).catch(() => undefined); // biome-ignore format: one request
      const text = await reply?.text().catch(() => undefined);
      if (!reply || text === undefined) {
        phase.cut++; // by the kill: the client sees it, and asks again once the server is back
        await back;
        continue;
      }
      const version = reply.headers.get("x-coa-version")?.split("/").at(-1) ?? "none";
      const way = reply.headers.get("x-coa-answered-by") ?? "none";
      if (reply.status !== 200) {
        phase.refused++;
        // Once the old system was down it is left alone for a while: a chain without an answer is refused until then.
        const resting = wasDown && text.includes("(no-answer)");
        if (!(text.includes("old_system_down") && (!up || resting))) result.wrong.push(`${reply.status} ${text.slice(0, 200)}`); // biome-ignore format: one line
        return;
      }
      phase.answered++;
      const pinned = versions.get(conversation);
      const mayMove = pinned === undefined || !allowed.includes(pinned);
      if (!allowed.includes(version) || (!mayMove && version !== pinned)) result.wrong.push(`${conversation}: ${version}, was ${pinned}`); // biome-ignore format: one line
      // A chain of the live version that ended without an answer went to the old system, and says so.
      const expected = way === ways[version] || (version === "sure" && way === "old" && text.includes("no-answer"));
      const fromOld = text.includes("from the old system");
      if (!expected || fromOld !== (way === "old")) result.silent.push(`${conversation}: ${version} answered by ${way}: ${text.slice(0, 200)}`); // biome-ignore format: one line
      versions.set(conversation, version);
      return;
    }
  }
  let back: Promise<unknown> = Promise.resolve();

  /** All clients ask; half of the questions are in conversations that a phase before began. */
  async function phase(name: string, allowed: readonly string[], during?: () => Promise<void>): Promise<void> {
    const counts = (result.phases[name] = { answered: 0, refused: 0, cut: 0 });
    const number = Object.keys(result.phases).length;
    let sent = 0;
    const halfway = Promise.withResolvers<void>();
    const client = async (_: unknown, at: number) => {
      for (let i = 0; i < requests; i++) {
        if (++sent === Math.floor((clients * requests) / 2)) halfway.resolve();
        const began = i % 2 === 0 ? number : 1 + ((at + i) % number);
        await ask(`Find the sum of ${100 + at} and ${300 + began}, times ${20 + i}.`, counts, allowed);
      }
    };
    const asked = Promise.all(Array.from({ length: clients }, client));
    if (during) {
      await halfway.promise;
      await during();
    }
    await asked;
  }
  const canaries = () => [...versions.values()].filter((version) => version === "unsure").length;

  try {
    await phase("one version", ["sure"]);
    await coa("promote", "unsure", "--canary", "30%");
    await phase("a canary", ["sure", "unsure"]);
    result.canary.before = canaries();
    await phase("killed", ["sure", "unsure"], async () => {
      const again = Promise.withResolvers<void>();
      back = again.promise;
      const gone = once(server, "exit");
      server.kill("SIGKILL");
      await gone;
      server = await start();
      again.resolve();
    });
    result.canary.after = canaries();
    [up, wasDown] = [false, true];
    await phase("the old system is down", ["sure", "unsure"]);
    up = true;
    await coa("rollback");
    await phase("rolled back", ["sure"]);
    return result;
  } finally {
    server.kill("SIGKILL");
    await old.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
