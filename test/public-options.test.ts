/**
 * The functions that users of JavaScript call first refuse an option that they do not have, also inside options that have
 * options (`limits`, `schedule`, `access`, ...): a limit that is misspelt is no limit. Everywhere else the types do it.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";

/** Entry, function, which parameter its options are, and which of them have options themselves. */
const functions: readonly (readonly [entry: string, name: string, at: number, ...parts: string[]])[] = [
  ["", "runChain", 1, "limits", "sampling", "compaction"],
  ["", "streamChain", 1, "limits", "sampling", "compaction"],
  ["", "runChains", 1, "limits", "sampling", "compaction"],
  ["models", "openaiCompatible", 0],
  ["engines", "openEmbeddedEngine", 0],
  ["engines", "openTinkerEngine", 0, "lora", "prices"],
  ["tools", "chooseSandbox", 0, "limits", "bubblewrap"],
  ["team", "runTeam", 1, "budget"],
  ["team", "runTeams", 1, "budget", "totalBudget"],
  ["record", "startProxy", 0, "access", "budget"],
  ["distill", "distill", 0],
  ["distill", "distillRun", 1],
  ["dataset", "buildDataset", 1],
  ["dataset", "exportDataset", 0],
  ["train", "trainSft", 0, "schedule", "optimizer", "evaluation"],
  ["train", "trainRl", 0, "schedule", "optimizer", "loss"],
  ["evaluate", "runEvaluation", 2],
  ["evaluate", "chainSystem", 0, "limits", "sampling", "compaction"],
  ["serve", "chainHandler", 0, "access"],
];

/** What a call with an option that does not exist ends with; a generator is asked for its first value. */
async function outcome(call: () => unknown): Promise<unknown> {
  try {
    const result = call() as { next?(): unknown; close?(): unknown };
    const first = typeof result?.next === "function" ? await result.next() : await result;
    return `returned ${typeof first}`;
  } catch (error) {
    return (error as Error).message;
  }
}

describe("an option that does not exist", () => {
  for (const [entry, name, at, ...parts] of functions) {
    it(`is refused by ${name}${parts.map((part) => `, in its ${part}`).join("")}`, async () => {
      const file = join(import.meta.dirname, "..", "src", entry, "index.ts");
      const module = (await import(pathToFileURL(file).href)) as Record<string, (...given: unknown[]) => unknown>;
      const wrong = { noSuchOptionAnywhere: 1 };
      for (const options of [wrong, ...parts.map((part) => ({ [part]: wrong }))]) {
        const given: unknown[] = [];
        given[at] = options;
        const message = await outcome(() => module[name]!(...given));
        assert.match(
          String(message),
          /has no option noSuchOptionAnywhere: (?:it has|did you mean)/,
          JSON.stringify(options),
        );
      }
    });
  }
});
