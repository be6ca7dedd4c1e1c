import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { withServer } from "../../test/fixtures/serve-server.ts";
import { UsageError } from "../core/errors.ts";
import { scriptedModel } from "../testing/index.ts";
import { type Conversations, openConversations } from "./conversations.ts";
import { readActs, recordAct, registryFile, servingAfter, statusOf, versionFor } from "./registry.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of foreign APIs
type Loose = any;
const folder = await mkdtemp(join(tmpdir(), "coa-registry-"));
after(() => rm(folder, { recursive: true, force: true }));
const at = "";

describe("the registry", () => {
  it("knows candidates, the canary, the live model and the retired ones", () => {
    const acts = [
      { at, act: "promote" as const, folder: "a" },
      { at, act: "canary" as const, folder: "b", weight: 0.2 },
    ];
    const serving = servingAfter(acts);
    assert.deepEqual(["a", "b", "c"].map((one) => statusOf(serving, one)), ["live", "canary", "candidate"]); // biome-ignore format: one line
    const promoted = servingAfter([...acts, { at, act: "promote", folder: "b" }]);
    assert.deepEqual(["a", "b"].map((one) => statusOf(promoted, one)), ["retired", "live"]); // biome-ignore format: one line
    const back = servingAfter([...acts, { at, act: "promote", folder: "b" }, { at, act: "rollback" }]);
    assert.deepEqual([back.live, statusOf(back, "b"), [...back.withdrawn]], ["a", "retired", ["b"]]);
    const withdrawn = servingAfter([...acts, { at, act: "rollback" }]);
    assert.deepEqual([withdrawn.live, withdrawn.canary], ["a", undefined]);
  });

  it("refuses acts that make no sense", () => {
    assert.throws(() => servingAfter([{ at, act: "rollback" }]), /nothing to go back to/);
    assert.throws(() => servingAfter([{ at, act: "canary", folder: "a" }]), /no model is live/);
    assert.throws(() => servingAfter([{ at, act: "promote", folder: "a" }, { at, act: "canary", folder: "a" }]), /live already/); // biome-ignore format: one line
  });

  it("stays readable when several go back at once and there is one model to go back to", async () => {
    // A long list takes a while to read: at some distance one act reads before the other writes, and writes after it.
    const line = (model: string) => `${JSON.stringify({ at, act: "promote", folder: model })}\n`;
    for (let apart = 0; apart < 16; apart++) {
      const workspace = join(folder, `at-once-${apart}`);
      await mkdir(join(workspace, "switch"), { recursive: true });
      await writeFile(registryFile(workspace), line("a").repeat(2000) + line("b"));
      const acts = [];
      for (let act = 0; act < 8; act++) {
        acts.push(recordAct(workspace, { act: "rollback" }).catch(() => undefined));
        for (let turn = 0; turn < apart; turn++) await new Promise(setImmediate);
      }
      assert.equal((await Promise.all(acts)).filter(Boolean).length, 1, `${apart} turns apart`);
      assert.equal(servingAfter(await readActs(workspace)).live, "a");
    }
  });

  it("gives a canary its share of the conversations, the same ones each time", () => {
    const serving = { live: "a", canary: { folder: "b", weight: 0.2 }, before: [], withdrawn: new Set<string>() };
    const given = Array.from({ length: 4000 }, (_, i) => versionFor(serving, `c${i}`));
    assert.ok(Math.abs(given.filter((one) => one === "b").length / 4000 - 0.2) < 0.02);
    assert.deepEqual(
      given,
      Array.from({ length: 4000 }, (_, i) => versionFor(serving, `c${i}`)),
    );
  });
});

describe("conversations", () => {
  const file = join(folder, "conversations.jsonl");
  it("stay with their version over promotions and restarts, and leave one that is rolled back", async () => {
    await recordAct(folder, { act: "promote", folder: "a" });
    const first = await openConversations(folder, file);
    assert.equal(await first.versionOf("early"), "a");
    await recordAct(folder, { act: "promote", folder: "b" });
    assert.deepEqual([await first.versionOf("early"), await first.versionOf("late")], ["a", "b"]);
    await first.close();
    const second = await openConversations(folder, file);
    assert.deepEqual([await second.versionOf("early"), await second.versionOf("late")], ["a", "b"]);
    await recordAct(folder, { act: "rollback" });
    assert.deepEqual([await second.versionOf("early"), await second.versionOf("late")], ["a", "a"]);
    await second.close();
    const dayLater = await openConversations(folder, file, () => Date.now() + 25 * 3_600_000);
    await recordAct(folder, { act: "promote", folder: "c" });
    assert.equal(await dayLater.versionOf("early"), "c");
    await dayLater.close();
  });

  it("are not forgotten silently when their file is damaged", async () => {
    const damaged = join(folder, "damaged.jsonl");
    await writeFile(damaged, '{"conversation":"x","folder":"a","at":1}\nnot a line\n');
    await assert.rejects(openConversations(folder, damaged), /damaged\.jsonl:2: not JSON/);
    assert.match(await readFile(damaged, "utf8"), /"x"/);
  });
});

/** A server over versions that answer with their own name. */
async function withVersions(
  name: string,
  use: (
    ask: (question: string, history?: Loose[]) => Promise<[version: string | null, said: string]>,
    origin: string,
    conversations: Conversations,
  ) => Promise<void>,
) {
  // biome-ignore format: one signature
  const workspace = join(folder, name);
  await recordAct(workspace, { act: "promote", folder: "one" });
  const conversations = await openConversations(workspace, join(workspace, "conversations.jsonl"));
  const model = (version: string) =>
    scriptedModel(() => `<think>x</think><answer>${version}</answer>`, { name: version });
  const versions = {
    versionOf: async (conversation: string) => (await conversations.versionOf(conversation))!,
    async open(version: string) {
      if (version === "broken") throw new UsageError(`no cascade in ${version}`);
      return { model: model(version) };
    },
  };
  await withServer({ model: model("none"), versions, maxChains: 64, maxQueue: 1000 }, async (post, origin) => {
    await use(
      async (question, history = []) => {
        const reply = await post("/v1/chat/completions", {
          messages: [...history, { role: "user", content: question }],
        });
        const body: Loose = await reply.json();
        return [reply.headers.get("x-coa-version"), body.choices[0].message.content];
      },
      origin,
      conversations,
    );
  });
  await conversations.close();
}

describe("a server that follows the registry", () => {
  it("never mixes versions inside a conversation while models are promoted and rolled back under load", async () => {
    await withVersions("load", async (ask) => {
      const workspace = join(folder, "load");
      const clients = Array.from({ length: 20 }, async (_, client) => {
        const seen: string[] = [];
        const history: Loose[] = [];
        for (let turn = 0; turn < 6; turn++) {
          const question = `${turn} of ${client}`;
          const [version, said] = await ask(question, history);
          assert.equal(said, version);
          seen.push(said);
          history.push({ role: "user", content: question }, { role: "assistant", content: said });
        }
        return seen;
      });
      await recordAct(workspace, { act: "canary", folder: "two", weight: 0.5 });
      await recordAct(workspace, { act: "promote", folder: "two" });
      for (const seen of await Promise.all(clients)) assert.equal(new Set(seen).size, 1, seen.join());
      const [version] = await ask("a new conversation");
      assert.equal(version, "two");
      await recordAct(workspace, { act: "rollback" });
      const after = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(`after ${i}`)));
      assert.ok(after.every(([one]) => one === "one"));
      assert.equal((await ask("next", [{ role: "user", content: "a new conversation" }]))[0], "one");
      const kept = await readFile(join(workspace, "conversations.jsonl"), "utf8");
      assert.doesNotMatch(kept, /new conversation/, "what users wrote is not kept in names");
    });
  });

  it("refuses as its own fault what a version that can't be opened should answer, until that is rolled back", async () => {
    await withVersions("broken", async (_, origin) => {
      const post = async () => {
        const body = JSON.stringify({ messages: [{ role: "user", content: "?" }] });
        const reply = await fetch(`${origin}/v1/chat/completions`, { method: "POST", headers: { "content-type": "application/json" }, body }); // biome-ignore format: one request
        return [reply.status, ((await reply.json()) as Loose).error?.code, reply.headers.get("x-coa-version")];
      };
      await recordAct(join(folder, "broken"), { act: "promote", folder: "broken" });
      assert.deepEqual(await post(), [503, "version_unavailable", null]);
      await recordAct(join(folder, "broken"), { act: "rollback" });
      assert.deepEqual(await post(), [200, undefined, "one"]);
    });
  });
});
