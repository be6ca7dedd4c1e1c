/** What a guard keeps: demonstrations that are imitated beside every update of a policy. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { digitEngine, digitGame } from "../../test/fixtures/digit-game.ts";
import type { Example } from "../core/engine.ts";
import { fixedExamples } from "./example-source.ts";
import { guard } from "./extra-loss.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-guard-"));
after(() => rm(folder, { recursive: true, force: true }));

/** Demonstrations that `a` is followed by `b`: nothing that the game asks for. */
const demonstrations: Example[] = Array.from({ length: 6 }, () => ({
  input: Int32Array.of(97),
  targets: Int32Array.of(98),
  weights: Float32Array.of(1),
}));

describe("the guard of an RL run", () => {
  it("imitates demonstrations in every update, and the game is learned all the same", async () => {
    const guarded = digitEngine();
    const source = fixedExamples(demonstrations, 2, 1);
    const result = await digitGame(guarded, join(folder, "guarded"), { steps: 20, extraLosses: [guard(source)] });
    assert.ok(result.lastReward > result.firstReward + 0.3, `${result.firstReward} -> ${result.lastReward}`);
    const row = [...guarded.logits.slice(256 * 97, 256 * 98)];
    assert.equal(row.indexOf(Math.max(...row)), 98);
    const bare = digitEngine();
    await digitGame(bare, join(folder, "bare"), { steps: 20 });
    assert.deepEqual(bare.logits.slice(256 * 97, 256 * 98), digitEngine().logits.slice(256 * 97, 256 * 98));
  });

  it("counts as much as its coefficient says", async () => {
    const pulls: number[] = [];
    for (const coefficient of [0, 0.01, 1]) {
      const engine = digitEngine();
      const source = fixedExamples(demonstrations, 2, 1);
      await digitGame(engine, join(folder, `weight-${coefficient}`), {
        steps: 2,
        extraLosses: [guard(source, coefficient)],
      });
      pulls.push(engine.logits[256 * 97 + 98]!);
    }
    assert.equal(pulls[0], 0);
    assert.ok(pulls[1]! > 0 && pulls[2]! >= pulls[1]!, `${pulls}`);
  });
});
