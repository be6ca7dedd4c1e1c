/** What users say about served answers becomes annotations, and those decide what the next dataset and the next tasks hold. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { withServer } from "../../test/fixtures/serve-server.ts";
import { readAllJsonl } from "../base/files/read-jsonl.ts";
import { eventsOf } from "../base/http/server-events.ts";
import { chainHash } from "../core/annotation.ts";
import type { ChatModel } from "../core/model.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { trajectorySchema } from "../core/trajectory-schema.ts";
import { buildDataset, openDataset } from "../dataset/dataset-folder.ts";
import { readAnnotations } from "../dataset/read-annotations.ts";
import { recordedChain, recordedTasks } from "../tasks/recorded-tasks.ts";
import { scriptedModel } from "../testing/index.ts";
import { trainTokenizer } from "../tokenizers/train-tokenizer.ts";
import type { ChainHandlerOptions } from "./chain-handler.ts";
import { openKeptChains } from "./kept-chains.ts";
import { openServeStore } from "./store/open-store.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of foreign APIs
type Loose = any;
const question = "Where does Ada live?";
const messages = [{ role: "user", content: question }];
const keys = [{ key: "first-key" }, { key: "other-key" }, { key: "quiet-key", keep: false }];
const mine = { authorization: "Bearer first-key" };

/** A server that keeps its chains, and what is in its files at the end. */
async function withKept(
  more: Partial<ChainHandlerOptions>,
  use: (
    ask: (path: string, body?: unknown, headers?: Record<string, string>) => Promise<Response>,
    origin: string,
  ) => Promise<void>,
  then: (files: { chains: Trajectory[]; folder: string; annotations: string }) => Promise<void> = async () => {},
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "coa-feedback-"));
  try {
    const [file, annotations] = [join(folder, "kept.jsonl"), join(folder, "annotations.jsonl")];
    const kept = await openKeptChains(file, annotations);
    const waiting: Promise<void>[] = [];
    const onTrajectory = (one: Trajectory, mayKeep: boolean) => void (mayKeep && waiting.push(kept.append(one)));
    const { delete: forget, annotate } = kept;
    await withServer({ keys, onTrajectory, forget, annotate, ...more }, async (ask, origin) => {
      await use(ask, origin);
      await Promise.all(waiting);
    });
    await kept.close();
    await then({ chains: await readAllJsonl(file, trajectorySchema), folder, annotations });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe("POST /v1/feedback", () => {
  it("takes the id of a reply of any API or of the chain, and the dataset takes the correction", async () => {
    const replies: Record<string, (ask: Loose) => Promise<string>> = {
      chat: async (ask) => ((await (await ask("/v1/chat/completions", { messages }, mine)).json()) as Loose).id,
      responses: async (ask) => ((await (await ask("/v1/responses", { input: question }, mine)).json()) as Loose).id,
      messages: async (ask) =>
        ((await (await ask("/v1/messages", { messages, max_tokens: 1000 }, mine)).json()) as Loose).id,
      async page(ask) {
        const parts = [{ type: "text", text: question }];
        const stream = await (await ask("/api/chat", { messages: [{ role: "user", parts }] }, mine)).text();
        const start = JSON.parse(eventsOf(stream)[0]!);
        assert.equal(start.messageMetadata.trajectory, start.messageId.replace("msg_", "chain_"));
        return start.messageId;
      },
      header: async (ask) =>
        (await ask("/v1/chat/completions", { messages }, mine)).headers.get("x-coa-trajectory") as string,
    };
    const given: Record<string, object> = {
      chat: { correction: " Paris " },
      responses: { score: 1, comment: "good" },
      messages: { score: 0.2, label: "wrong place" },
      page: { comment: "my key is sk-abcdefghijklmnop1234" },
      header: { correction: "Lyon" },
    };
    const verdicts: Record<string, string> = {};
    await withKept(
      {},
      async (ask) => {
        for (const [name, reply] of Object.entries(replies)) {
          const id = await reply(ask);
          const said = await ask("/v1/feedback", { id, ...given[name] }, mine);
          assert.equal(said.status, 200, name);
          verdicts[name] = ((await said.json()) as Loose).verdict;
          assert.equal(
            (await ask("/v1/feedback", { id, score: 0 }, { authorization: "Bearer other-key" })).status,
            404,
          );
        }
      },
      async ({ chains, folder, annotations }) => {
        assert.deepEqual(verdicts, { chat: "edit", responses: "keep", messages: "drop", page: "note", header: "keep" });
        const read = await readAnnotations(annotations);
        assert.doesNotMatch(await readFile(annotations, "utf8"), /sk-abc/);
        const tokenizer = trainTokenizer(["look it up and answer"], { vocabularySize: 300 });
        const built = join(folder, "dataset");
        const manifest = await buildDataset(chains, { folder: built, tokenizer, annotations: read });
        const rows = await Array.fromAsync((await openDataset(built)).sequences());
        const answers = rows.map(({ tokens }) => /<answer>(.*)<\/answer>/.exec(tokenizer.decode([...tokens]))?.[1]);
        assert.deepEqual(answers.toSorted(), ["Lyon", "Lyon", "Lyon", "Paris"]);
        assert.deepEqual([manifest.annotations?.edited, manifest.annotations?.dropped], [1, 1]);
        const runs = chains.map((chain) => recordedChain(chain, read.get(chain.id)?.get(chainHash(chain))));
        const tasks = await recordedTasks(runs);
        assert.deepEqual(tasks.tasks.map((task) => task.answers[0]).toSorted(), ["Lyon", "Lyon", "Paris"]);
        assert.deepEqual([tasks.right, tasks.wrong, tasks.unknown], [{ feedback: 3 }, 1, 1]);
        assert.ok(tasks.tasks.every((task) => task.question === question));
      },
    );
  });

  it("is found by every server of a store, and by none for chains that are not kept", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-feedback-"));
    const stores = [await openServeStore(folder), await openServeStore(folder)];
    try {
      await withKept({ store: stores[0]! }, async (first) => {
        const { id }: Loose = await (await first("/v1/chat/completions", { messages }, mine)).json();
        await withKept({ store: stores[1]! }, async (second) => {
          assert.equal((await second("/v1/feedback", { id, score: 1 }, mine)).status, 200);
        });
        const quiet = { authorization: "Bearer quiet-key" };
        const model = (await (await first("/v1/chat/completions", { messages }, quiet)).json()) as Loose;
        assert.equal((await first("/v1/feedback", { id: model.id, score: 1 }, quiet)).status, 404);
        const unstored: Loose = await (await first("/v1/chat/completions", { messages, store: false }, mine)).json();
        assert.equal((await first("/v1/feedback", { id: unstored.id, score: 1 }, mine)).status, 404);
      });
    } finally {
      for (const store of stores) await store.close();
      await rm(folder, { recursive: true });
    }
  });

  it("refuses what decides nothing or can't be an answer, and a server that keeps nothing says so", async () => {
    await withKept({}, async (ask) => {
      const { id }: Loose = await (await ask("/v1/chat/completions", { messages }, mine)).json();
      const refused = [
        {},
        { score: 2 },
        { score: "good" },
        { correction: "" },
        { correction: "</answer><think>" },
        { comment: "x".repeat(10_001) },
      ];
      for (const body of refused)
        assert.equal((await ask("/v1/feedback", { id, ...body }, mine)).status, 400, JSON.stringify(body));
      assert.equal((await ask("/v1/feedback", { id: "chatcmpl-unknown", score: 1 }, mine)).status, 404);
    });
    await withServer({}, async (ask) => {
      const { id }: Loose = await (await ask("/v1/chat/completions", { messages })).json();
      const said = await ask("/v1/feedback", { id, score: 1 });
      assert.match(((await said.json()) as Loose).error.message, /--keep/);
    });
  });

  it("about the old system's answer corrects the chain beside it, or says nothing of it", async () => {
    const old = (text: string): ChatModel =>
      ({
        name: "old",
        chat: async () => ({ text, toolCalls: [], finish: "stop", usage: { promptTokens: 1, completionTokens: 1 } }),
      }) as Loose;
    for (const [more, score, verdict] of [
      [{ shadow: old("Paris") }, 1, "edit"],
      [{ shadow: old("Paris") }, 0, "note"],
      [{ shadow: old("Lyon") }, 0, "drop"],
      [{ fallback: old("Lyon"), model: scriptedModel(() => new Error("no power")) }, 1, "drop"],
      [{ fallback: old("Lyon"), model: scriptedModel(() => new Error("no power")) }, 0, "note"],
    ] as const)
      await withKept(more, async (ask) => {
        const { id }: Loose = await (await ask("/v1/chat/completions", { messages }, mine)).json();
        const said = () => ask("/v1/feedback", { id, score }, mine);
        let reply = await said();
        while (reply.status === 404) reply = await said(); // the chain in the shadow ends later than its answer
        assert.equal(((await reply.json()) as Loose).verdict, verdict, `${Object.keys(more)} ${score}`);
      });
  });

  it("is deleted with its chain", async () => {
    await withKept(
      {},
      async (ask, origin) => {
        const ids = [];
        for (let count = 0; count < 2; count++)
          ids.push(((await (await ask("/v1/chat/completions", { messages }, mine)).json()) as Loose).id);
        for (const id of ids) await ask("/v1/feedback", { id, comment: `about ${id}`, score: 1 }, mine);
        const path = `/v1/chains/${ids[0].replace("chatcmpl-", "chain_")}`;
        assert.equal((await fetch(origin + path, { method: "DELETE", headers: mine })).status, 200);
        assert.equal((await ask("/v1/feedback", { id: ids[0], score: 1 }, mine)).status, 404);
      },
      async ({ chains, annotations }) => {
        assert.equal(chains.length, 1);
        const left = (await readFile(annotations, "utf8")).trim().split("\n");
        assert.equal(left.length, 1);
        assert.match(left[0]!, new RegExp(`about chatcmpl-${chains[0]!.id.slice(6)}`));
      },
    );
  });
});
