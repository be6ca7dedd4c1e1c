import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { madeCascade } from "../../test/fixtures/made-switch.ts";
import { type Fault, startModelServer } from "../../test/fixtures/model-server.ts";
import { good, withServer } from "../../test/fixtures/serve-server.ts";
import { seededRandom } from "../base/work/random.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { openaiCompatible } from "../models/openai-compatible.ts";
import type { OldSystemOptions } from "../serve/old-system.ts";
import { type Script, scriptedModel, tableTool } from "../testing/index.ts";
import { type Audit, openAudit } from "./audit.ts";
import { oldSystemDoor } from "./serve-cascade.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of foreign APIs
type Loose = any;
const folder = await mkdtemp(join(tmpdir(), "coa-serve-cascade-"));
after(() => rm(folder, { recursive: true, force: true }));

/** Trusts chains that used a tool. */
const cascade = madeCascade();
const guess: Script = () => "<think>easy</think><answer>Rome</answer>";
const messages = [{ role: "user", content: "Where does Ada live?" }];

interface Served {
  script?: Script;
  share?: number;
  fault?: () => Fault;
  answer?: string;
  more?: Partial<NonNullable<OldSystemOptions["cascade"]>>;
  file?: string;
}

async function withCascade(
  { script = good, share = 0, fault, answer = "Lyon", more, file }: Served,
  use: (ask: Parameters<Parameters<typeof withServer>[1]>[0], state: { audit: Audit; kept: Trajectory[]; asked: Loose[] }) => Promise<void>, // biome-ignore format: one signature
): Promise<void> {
  const server = await startModelServer({ answer: () => answer, models: { data: [{ id: "old-team" }] }, fault });
  const old = openaiCompatible({ baseURL: server.url, apiKey: "sk-old", retries: 0 });
  const audit = await openAudit(cascade, { name: "test", share, file });
  const kept: Trajectory[] = [];
  const options = {
    model: scriptedModel(script),
    toolsOf: () => [tableTool({ Ada: "Ada lives in Lyon." }, "wiki_search")],
    fallback: old,
    cascade: { cascade, audit, name: "test", ...more },
    onTrajectory: (one: Trajectory) => void kept.push(one),
  };
  try {
    await withServer(options, (ask) => use(ask, { audit, kept, asked: server.requests }));
  } finally {
    await old.close();
    await server.close();
    await audit.close();
  }
}

describe("a served cascade", () => {
  it("answers by the model where it is sure, by the old system elsewhere, and says which in every API", async () => {
    await withCascade({ answer: "never asked" }, async (ask, { kept, asked }) => {
      const reply = await ask("/v1/chat/completions", { messages, temperature: 0.7 });
      assert.equal(reply.headers.get("x-coa-answered-by"), "model");
      assert.equal(((await reply.json()) as Loose).choices[0].message.content, "Lyon");
      assert.equal(asked.length, 0);
      assert.deepEqual(kept[0]?.served?.cascade, { via: "model", kind: "wiki_search", score: Math.log1p(1) });
    });
    await withCascade({ script: guess }, async (ask, { kept }) => {
      const chat = await ask("/v1/chat/completions", { messages });
      assert.equal(chat.headers.get("x-coa-answered-by"), "old");
      const said: Loose = await chat.json();
      assert.equal(said.choices[0].message.content, "Lyon");
      assert.match(said.choices[0].message.reasoning, /answered by the old system: unsure/);
      const streamed = await (await ask("/v1/chat/completions", { messages, stream: true })).text();
      assert.match(streamed, /answered by the old system: unsure.*"content":"Lyon"/s);
      assert.doesNotMatch(streamed, /Rome/);
      const response: Loose = await (await ask("/v1/responses", { input: "Where does Ada live?" })).json();
      assert.equal(response.metadata.coa_answered_by, "old");
      const message = await ask("/v1/messages", { max_tokens: 99, messages });
      assert.equal(message.headers.get("x-coa-answered-by"), "old");
      assert.match(await (await ask("/metrics")).text(), /coa_cascade_total\{via="old",reason="unsure"\} 4/);
      assert.deepEqual([kept[0]?.answer, kept[0]?.served?.fallback?.answer], ["Rome", "Lyon"]);
    });
  });

  it("runs with the settings it was measured with, whatever a request asks for", async () => {
    const model = scriptedModel(good);
    await withServer(
      {
        model,
        fallback: openaiCompatible({ baseURL: "http://127.0.0.1:9" }),
        cascade: { cascade, audit: await openAudit(cascade, { name: "x", share: 0 }), name: "x" },
        defaults: { sampling: { temperature: 0 } },
      },
      async (ask) => {
        // biome-ignore format: one server
        await ask("/v1/chat/completions", { messages, temperature: 0.9, top_p: 0.5 });
        assert.deepEqual([model.requests[0]?.temperature, model.requests[0]?.topP], [0, undefined]);
      },
    );
  });

  it("never answers silently when the old system is down: it refuses, or marks the model's answer", async () => {
    await withCascade({ script: guess, fault: () => "error-500" }, async (ask) => {
      for (let i = 0; i < 4; i++) {
        const reply = await ask("/v1/chat/completions", { messages });
        const { error }: Loose = await reply.json();
        assert.deepEqual([reply.status, error.code], [503, "old_system_down"]);
        assert.match(error.message, /not sure enough \(unsure\)/);
      }
    });
    await withCascade(
      { script: guess, fault: () => "error-500", more: { whenDown: "model" } },
      async (ask, { kept }) => {
        const reply = await ask("/v1/chat/completions", { messages });
        assert.equal(reply.headers.get("x-coa-answered-by"), "model-unsure");
        assert.match(((await reply.json()) as Loose).choices[0].message.reasoning, /the old system is down, answered by the model/); // biome-ignore format: one line
        assert.equal(kept[0]?.served?.cascade?.via, "model-unsure");
      },
    );
  });

  it("does not tell callers where the old system stands", async () => {
    const gone = openaiCompatible({ baseURL: "http://127.0.0.1:9/v1", retries: 0 });
    const audit = await openAudit(cascade, { name: "x", share: 0 });
    const options = { model: scriptedModel(guess), fallback: gone, cascade: { cascade, audit, name: "x" } };
    const said = async (ask: (path: string, body: object) => Promise<Response>) =>
      ((await (await ask("/v1/chat/completions", { messages })).json()) as Loose).error;
    await withServer(options, async (ask) => {
      const error = await said(ask);
      assert.equal(error.code, "old_system_down");
      assert.doesNotMatch(error.message, /127\.0\.0\.1/);
    });
    await withServer({ model: scriptedModel(guess), shadow: gone }, async (ask) => {
      const error = await said(ask);
      assert.equal(error.code, "shadow_failed");
      assert.doesNotMatch(error.message, /127\.0\.0\.1/);
    });
    await gone.close();
  });

  it("stops asking after the budget of an hour", async () => {
    await withCascade({ script: guess, more: { perHour: 2 } }, async (ask, { asked }) => {
      const codes = [];
      for (let i = 0; i < 4; i++) codes.push((await ask("/v1/chat/completions", { messages })).status);
      assert.deepEqual(codes, [200, 200, 503, 503]);
      assert.equal(asked.length, 2);
    });
  });

  it("audits a share, raises an alert when answers differ, and no longer trusts that kind of question", async () => {
    const alerts: string[] = [];
    const file = join(folder, "audit.jsonl");
    const more = { onAlert: ({ kind }: { kind: string }) => void alerts.push(kind) };
    await withCascade({ share: 1, answer: "Paris", more, file }, async (ask, { audit }) => {
      let sent = 0;
      for (; alerts.length === 0 && sent < 60; sent++) {
        const before = audit.state.audited;
        await (await ask("/v1/chat/completions", { messages })).json();
        while (audit.state.audited === before && alerts.length === 0) await new Promise((done) => setTimeout(done, 5));
      }
      assert.deepEqual(alerts, ["wiki_search"]);
      assert.ok(sent <= 3 * auditsToAlert(0.999, audit.state.bound, 0.0125) + 5, `${sent} requests`);
      const reply = await ask("/v1/chat/completions", { messages });
      assert.equal(reply.headers.get("x-coa-answered-by"), "old");
      assert.match(await (await ask("/metrics")).text(), /coa_cascade_alerts_total\{kind="wiki_search"\} 1/);
    });
    const damaged = join(folder, "damaged.jsonl");
    await writeFile(damaged, `${await readFile(file, "utf8")}{"id":7}\n`);
    await assert.rejects(openAudit(cascade, { name: "test", share: 1, file: damaged }), /damaged\.jsonl:\d+: not what was expected/); // biome-ignore format: one line
    const lines = (await readFile(file, "utf8")).trim().split("\n").map((line) => JSON.parse(line) as Loose); // biome-ignore format: one line
    assert.deepEqual([lines[0].model, lines[0].old, lines[0].differs], ["Lyon", "Paris", true]);
    await withCascade({ share: 1, answer: "Paris", file }, async (ask, { audit }) => {
      assert.deepEqual(audit.state.alerts.map(({ kind }) => kind), ["wiki_search"]); // biome-ignore format: one line
      assert.equal((await ask("/v1/chat/completions", { messages })).headers.get("x-coa-answered-by"), "old");
    });
  });
});

describe("an audit", () => {
  it("chooses the same requests for ever, about as many as asked, and none by their score", async () => {
    const audit = await openAudit(cascade, { name: "a", share: 0.1 });
    const chosen = Array.from({ length: 5000 }, (_, at) => audit.chooses(`chain-${at}`));
    const share = chosen.filter(Boolean).length / chosen.length;
    assert.ok(Math.abs(share - 0.1) < 0.015, `${share}`);
    assert.deepEqual(
      chosen,
      Array.from({ length: 5000 }, (_, at) => audit.chooses(`chain-${at}`)),
    );
  });

  it("names the kind that broke the promise and leaves the others trusted; without a break it stays quiet", async () => {
    const kinds = ["a", "b", "c"];
    const many = { ...cascade, figures: { ...cascade.figures, kinds: Object.fromEntries(kinds.map((kind) => [kind, cascade.figures.all])) } }; // biome-ignore format: one cascade
    let [quiet, named] = [0, 0];
    for (let draw = 0; draw < 40; draw++) {
      const random = seededRandom("kinds", draw);
      const run = async (broken: number) => {
        const audit = await openAudit(many, { name: "x", share: 1 });
        for (let i = 0; i < 1500 && audit.state.alerts.length === 0; i++) {
          const kind = random.pick(kinds);
          const rate = kind === "b" ? broken : audit.state.bound / 2;
          await audit.add({ id: `${i}`, cascade: "x", at: "", kind, differs: random.next() < rate });
        }
        return audit.state.alerts.map((alert) => alert.kind);
      };
      if ((await run(0.005)).length === 0) quiet++;
      if ((await run(0.25)).join() === "b") named++;
    }
    assert.ok(quiet >= 38 && named >= 36, `quiet ${quiet}, named ${named} of 40`);
  });

  it("keeps the door to a failing system closed for a while, and lets one request try it again", async () => {
    let clock = 0;
    let up = false;
    let asked = 0;
    const door = oldSystemDoor(
      async () => {
        asked++;
        if (!up) throw new Error("down");
        return { model: "old", text: "x", ms: 1, usage: { promptTokens: 1, completionTokens: 1 } };
      },
      { now: () => clock },
    );
    const ask = () => door.ask({}, new AbortController().signal).then(() => "ok", () => "no"); // biome-ignore format: one line
    for (let i = 0; i < 6; i++) await ask();
    assert.equal(asked, 3);
    clock += 31_000;
    assert.deepEqual(await Promise.all([ask(), ask(), ask()]), ["no", "no", "no"]);
    assert.equal(asked, 4);
    up = true;
    clock += 31_000;
    assert.deepEqual([await ask(), await ask(), asked], ["ok", "ok", 6]);
  });
});

/** About how many audited requests it takes to find a rate of differing answers above the bound. */
function auditsToAlert(rate: number, bound: number, level: number): number {
  return Math.log(1 / level) / (rate * Math.log(rate / bound) + (1 - rate) * Math.log((1 - rate) / (1 - bound)));
}
