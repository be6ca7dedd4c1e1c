/**
 * Tokens counted again with another tokenizer. With the counter that a system counted with itself, its own figures must
 * come out again; with another one, both sides change by the same rule.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { runChain } from "../src/chain/run-chain.ts";
import { shippedModels } from "../src/cli/find-model.ts";
import { openFolder } from "../src/cli/open-model.ts";
import { compareEvaluations } from "../src/evaluate/compare-evaluations.ts";
import { defineSystem } from "../src/evaluate/define-system.ts";
import { readEvaluation, type StoredEvaluation } from "../src/evaluate/read-evaluation.ts";
import { countRun, recountTokens } from "../src/evaluate/recount-tokens.ts";
import { runEvaluation } from "../src/evaluate/run-evaluation.ts";
import { taskGrader } from "../src/graders/grade-task.ts";
import { createWorld } from "../src/lab/create-world.ts";
import { labTeam, teamWords } from "../src/lab/lab-team.ts";
import { memoryLabTools } from "../src/lab/memory-lab-tools.ts";
import { labProfile } from "../src/lab/profile.ts";
import { worldTasks } from "../src/lab/world-tasks.ts";
import { comparisonTable } from "../src/report/comparison-table.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-recount-"));
after(() => rm(folder, { recursive: true, force: true }));
const world = createWorld({ seed: 5, pages: 300, split: "test" });
const tools = memoryLabTools(world);
const tasks = worldTasks(world, { count: 5, seed: 3 });
const options = { seed: 1, sample: 0 };

describe("a neutral tokenizer", () => {
  it("gives back a team's own figures when it counts as the team did, and the terse team sends the least", async () => {
    const count = (text: string) => text.length;
    const billed: number[] = [];
    for (const words of teamWords) {
      const system = labTeam({ name: words, tools: () => tools, words, countTokens: count });
      const { run, usage, answer } = await system.run(tasks[0]!, options);
      assert.equal(answer, tasks[0]!.answers[0]);
      const again = countRun(run!.value, count);
      assert.equal(again.billedTokens, usage.billedTokens);
      assert.ok(Math.abs(again.computedTokens - usage.computedTokens) <= 0.02 * usage.computedTokens);
      billed.push(usage.billedTokens);
    }
    assert.deepEqual(
      billed,
      billed.toSorted((a, b) => b - a),
    );
  });

  it("gives back a chain's own figures, and compares both sides by one rule", async () => {
    const { model, tokenizer, engine } = await openFolder(shippedModels()[0]!.folder);
    try {
      const own = (text: string) => tokenizer.encodeWithSpecials(text).length;
      const chain = defineSystem({
        name: "chain",
        topology: "single",
        run: (task, { seed, signal }) =>
          runChain(task, {
            model,
            tools,
            profile: labProfile,
            systemPrompt: false,
            sampling: { temperature: 0, seed },
            signal,
          }),
      });
      const team = labTeam({ name: "team", tools: () => tools, countTokens: own });
      const stored: StoredEvaluation[] = [];
      for (const system of [team, chain]) {
        const to = join(folder, system.name);
        await runEvaluation(tasks, system, { folder: to, grader: taskGrader() });
        stored.push(await readEvaluation(to));
      }
      const [, byOwn] = await Promise.all(stored.map((one) => recountTokens(one, own)));
      for (const [at, { usage }] of byOwn!.records.entries()) {
        const { usage: before } = stored[1]!.records[at]!;
        // The chat template's few marks around the question are not part of that count, once per call.
        const marks = 8 * before.modelCalls;
        assert.ok(
          Math.abs(usage.billedTokens - before.billedTokens) <= marks,
          `${usage.billedTokens} ${before.billedTokens}`,
        );
        assert.equal(usage.completionTokens, before.completionTokens);
      }
      const byLetters = await Promise.all(stored.map((one) => recountTokens(one, (text) => text.length)));
      const comparison = {
        ...compareEvaluations(stored),
        recounted: { name: "letters", rows: compareEvaluations(byLetters).rows },
      };
      assert.match(comparisonTable(comparison), /counted by letters[\s\S]*chain .* billed, .* computed/);
    } finally {
      await engine.close();
    }
  });

  it("recounts what a shortened context was shown, and what had to be read again after it", () => {
    const segment = (by: "model" | "tool", text: string) => ({ tag: "text", text, by });
    const base = {
      prompt: [{ role: "user", content: "123456" }],
      segments: [
        segment("model", "aaaa"),
        segment("tool", "bbbbbbbb"),
        segment("model", "cc"),
        segment("tool", "d"),
        segment("model", "ee"),
      ],
      compactions: [{ beforeCall: 2, fromSegment: 4, replaced: [{ segment: 1, text: "b" }] }],
    };
    const counted = countRun(base as never, (text) => text.length);
    const prompt = 6 + 4; // and the overhead of one message
    assert.equal(counted.completionTokens, 4 + 2 + 2);
    assert.equal(counted.promptTokens, prompt + (prompt + 12) + (prompt + 4 + 1 + 2 + 1));
    assert.equal(counted.computedTokens, prompt + 4 + 8 + 2 + 1 + (1 + 2 + 1) + 2);
  });
});
