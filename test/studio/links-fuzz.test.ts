/** Nothing that the team did vanishes: segments point at steps that exist, and each step is shown or left out with a reason. */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import type { BesideView } from "../../src/studio/api/beside-reader.ts";
import { readBeside } from "../../src/studio/api/beside-reader.ts";
import { openStudioContext } from "../../src/studio/api/serve-studio.ts";
import { testSize } from "../fixtures/test-size.ts";
import { studioWorkspace } from "./studio-workspace.ts";

// 1,000 chains in the long tier, which sets this; the short tier looks at a few.
const runs = testSize(60, 1_150);

describe("the team beside the chain", () => {
  let folder: string;
  let context: Awaited<ReturnType<typeof openStudioContext>>;

  before(async () => {
    folder = await studioWorkspace(runs, 0.1, 1);
    context = await openStudioContext({ paths: [folder], home: folder });
    await context.catalog.ready();
  });
  after(async () => {
    await context.close();
    await rm(folder, { recursive: true });
  });

  it("links every segment to an existing step, and accounts for every step", async () => {
    const total = context.items.counts()["chain"] ?? 0;
    assert.ok(total >= (runs > 1_000 ? 1_000 : 40), `${total} chains`);
    for (let offset = 0; offset < total; offset += 500) {
      for (const { key } of context.items.page({ kind: "chain" }, { by: "order", down: false }, offset, 500).rows) {
        const view = (await readBeside(new URLSearchParams({ chain: key }), context)) as BesideView;
        assert.deepEqual(view.problems, []);
        const steps = new Map(view.run!.steps.map((step) => [step.id, step]));
        for (const { from, index } of view.chain!.segments) {
          assert.ok(from, `${key}: segment ${index} has no origin`);
          assert.equal(steps.get(from.step)?.agent, from.agent, `${key}: segment ${index} from ${from.step}`);
        }
        const shown = new Set(view.chain!.segments.map(({ from }) => from!.step));
        const leftOut = new Map(view.chain!.leftOut.map(({ step, reason }) => [step, reason]));
        for (const id of steps.keys()) {
          assert.ok(shown.has(id) !== leftOut.has(id), `${key}: ${id} is neither shown nor left out, or both`);
          if (leftOut.has(id)) assert.ok(leftOut.get(id)!.length > 0);
        }
      }
    }
  });

  it("counts re-read tokens as the run's own usage does", async () => {
    for (const { key } of context.items.page({ kind: "run" }, { by: "order", down: false }, 0, 50).rows) {
      const { run } = (await readBeside(new URLSearchParams({ run: key }), context)) as BesideView;
      const sum = (name: "prompt" | "reread" | "retold" | "completion") =>
        run!.steps.reduce((total, { tokens }) => total + tokens[name], 0);
      assert.equal(sum("prompt") + sum("completion"), run!.usage.billedTokens);
      assert.equal(sum("prompt") - sum("reread") + sum("completion"), run!.usage.computedTokens);
      assert.ok(sum("retold") <= sum("prompt") - sum("reread"));
    }
  });
});
