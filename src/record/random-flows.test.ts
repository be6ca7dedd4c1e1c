import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { writeRequest } from "../../test/fixtures/wire-requests.ts";
import { wireApis } from "../base/wire/apis.ts";
import { writeReply } from "../base/wire/reply-writer.ts";
import type { WireApi } from "../base/wire/wire-api.ts";
import { seededRandom } from "../base/work/random.ts";
import { callsToRuns } from "./calls-to-runs.ts";
import type { RecordedCall } from "./recorded-call.ts";
import { refusedForTraining } from "./trainable.ts";
import { exchangeToCall } from "./wire-exchange.ts";

/** Random flows wired in code, written as the traffic of each API and read back: the run must be the flow. */

interface TrueStep {
  name: string;
  /** The steps whose replies its prompt quotes. */
  reads: number[];
  text: string;
}

/** Layers of one to three agents; each reads all replies of the layer before, the first reads the question. */
function randomFlow(api: WireApi, seed: number): { calls: RecordedCall[]; steps: TrueStep[]; question: string } {
  const random = seededRandom(seed);
  const below = (count: number) => Math.floor(random.next() * count);
  const question = `Question ${seed}: how many stones lie at place ${below(1e6)}?`;
  const steps: TrueStep[] = [];
  const calls: RecordedCall[] = [];
  const sizes = [1 + below(3), ...Array.from({ length: below(4) }, () => 1 + below(3)), 1];
  let before: number[] = [];
  for (const [layer, size] of sizes.entries()) {
    const own: number[] = [];
    for (let index = 0; index < size; index++) {
      const at = steps.length;
      const name = `worker_${layer}_${index}`;
      const text = `Worker ${layer} ${index} of flow ${seed} found ${below(1e9)} of them.`;
      const prompt = layer === 0 ? question : before.map((one) => `Given: ${steps[one]!.text}`).join("\n\n");
      const messages = [
        { role: "system" as const, content: `You are the ${name}. Do your part.` },
        { role: "user" as const, content: prompt },
      ];
      const { path, body } = writeRequest(api, { model: "m", messages, tools: [], stream: false });
      const reply = { text, toolCalls: [], finish: "stop" as const, finished: true, responseId: `r${seed}-${at}` };
      const call = exchangeToCall({
        version: 1,
        id: `${seed}-${at}`,
        path,
        startedAt: 1000 * layer + index,
        endedAt: 1000 * layer + 500 + index,
        status: 200,
        outcome: "complete",
        request: JSON.parse(JSON.stringify(body)),
        contentType: "application/json",
        response: JSON.stringify(writeReply(api, { ...reply, usage: { promptTokens: 9, completionTokens: 9 } })),
      });
      calls.push(call!);
      steps.push({ name, reads: layer === 0 ? [] : before, text });
      own.push(at);
    }
    before = own;
  }
  return { calls, steps, question };
}

describe("random flows through the wire and back", () => {
  for (const api of wireApis.filter(({ name }) => !/completions$|generate$/.test(name))) {
    it(`${api.name}: one and eight at once`, () => {
      for (let seed = 1; seed <= 24; seed += 8) {
        const flows = Array.from({ length: 8 }, (_, index) => randomFlow(api, seed + index));
        const groups = [...flows.map((flow) => [flow]), flows];
        for (const group of groups) {
          const runs = callsToRuns(
            group.flatMap(({ calls }) => calls),
            "wire",
          );
          assert.equal(runs.length, group.length, `seed ${seed}`);
          for (const { steps, question } of group) {
            const run = runs.find((one) => one.question === question)!;
            assert.equal(refusedForTraining(run), null);
            assert.equal(run.answer, steps.at(-1)!.text);
            const nameOf = new Map(run.agents.map(({ id, name }) => [id, name]));
            const read = run.agents.map(({ name, handoffFrom, joins = [] }) => [
              name,
              [...(handoffFrom === undefined ? [] : [handoffFrom]), ...joins].map((id) => nameOf.get(id)).sort(),
            ]);
            assert.deepEqual(
              read.toSorted(),
              steps.map(({ name, reads }) => [name, reads.map((at) => steps[at]!.name).sort()]).toSorted(),
            );
          }
        }
      }
    });
  }
});
