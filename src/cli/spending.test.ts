import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { ChatModel } from "../core/model.ts";
import { readSettings } from "./read-settings.ts";
import { openLedger } from "./spending.ts";

const usage = { promptTokens: 1000, completionTokens: 500 };
const model: ChatModel = {
  name: "m",
  chat: async () => ({ text: "yes", toolCalls: [], finish: "stop", usage }),
};
const ask = (one: ChatModel) => one.chat({ messages: [{ role: "user", content: "?" }] });

describe("openLedger", () => {
  it("makes no call once the limit is reached, and counts what earlier processes spent", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-ledger-"));
    try {
      // A call costs 1000 x 1 + 500 x 2 millionths of a dollar.
      const flags = { price: ["1,2"], maxUsd: 0.005, ledger: join(folder, "spending.jsonl") };
      const first = await openLedger(flags);
      const watched = first.watch(model);
      await ask(watched);
      await ask(watched);
      assert.equal(first.usage.costUsd, 0.004);
      await first.close();
      const second = await openLedger(flags);
      assert.equal(second.usage.costUsd, 0.004);
      await ask(second.watch(model));
      await assert.rejects(ask(second.watch(model)), {
        code: "budget-spent",
        message: /\$0\.0060 is spent, and --max-usd is 0\.005/,
      });
      await second.close();
      const third = await openLedger({ ...flags, maxUsd: 1 });
      await ask(third.watch(model));
      assert.equal(third.usage.modelCalls, 4);
      await third.close();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("refuses a limit without prices", async () => {
    await assert.rejects(
      openLedger(readSettings({ name: "x", reads: ["spending"] }, { "max-usd": "1" }, {}).spending),
      /--max-usd needs to know what tokens cost/,
    );
  });
});
