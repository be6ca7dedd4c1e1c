import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { ChatModel } from "../core/model.ts";
import { readSettings } from "./command.ts";
import { inSession } from "./session.ts";
import { openLedger } from "./spending.ts";

const usage = { promptTokens: 1000, completionTokens: 500 };
const model: ChatModel = {
  name: "m",
  chat: async () => ({ text: "yes", toolCalls: [], finish: "stop", usage }),
};
const shared = { note: () => {}, signal: new AbortController().signal };
const ask = (one: ChatModel) => one.chat({ messages: [{ role: "user", content: "?" }] });

describe("openLedger", () => {
  it("makes no call once the limit is reached, and counts what earlier processes spent", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-ledger-"));
    try {
      // A call costs 1000 x 1 + 500 x 2 millionths of a dollar.
      const flags = { price: ["1,2"], maxUsd: 0.005, maxTokens: undefined, ledger: join(folder, "spending.jsonl") };
      await inSession(shared, async (session) => {
        const first = await openLedger(flags, session);
        const watched = first.watch(model);
        await ask(watched);
        await ask(watched);
        assert.equal(first.usage.costUsd, 0.004);
      });
      await inSession(shared, async (session) => {
        const second = await openLedger(flags, session);
        assert.equal(second.usage.costUsd, 0.004);
        await ask(second.watch(model));
        await assert.rejects(ask(second.watch(model)), {
          code: "budget-spent",
          message: /\$0\.0060 is spent, and --max-usd is 0\.005/,
        });
      });
      await inSession(shared, async (session) => {
        const third = await openLedger({ ...flags, maxUsd: 1 }, session);
        await ask(third.watch(model));
        assert.equal(third.usage.modelCalls, 4);
      });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("refuses a limit without prices", async () => {
    const { spending } = readSettings({ name: "x", reads: ["spending"] }, { "max-usd": "1" }, {});
    await assert.rejects(
      inSession(shared, (session) => openLedger(spending, session)),
      /--max-usd needs to know what tokens cost/,
    );
  });
});
