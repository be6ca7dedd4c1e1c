/**
 * The functions that users of JavaScript call first refuse an option that they do not have, also inside options that have
 * options (`limits`, `schedule`, `access`, ...): a limit that is misspelt is no limit. Everywhere else the types do it.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import names from "../src/base/work/option-names.json" with { type: "json" };

/** Which parameter of a function its options are, where it is not the second. */
const first = new Set(["openaiCompatible", "openEmbeddedEngine", "openTinkerEngine", "chooseSandbox", "startProxy"])
  .union(new Set(["trainSft", "trainRl", "chainSystem", "chainHandler"])); // biome-ignore format: one list
const entries = [
  "",
  "models",
  "engines",
  "tools",
  "team",
  "record",
  "distill",
  "dataset",
  "train",
  "evaluate",
  "serve",
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
  for (const [name, parts] of Object.entries(names)) {
    it(`is refused by ${name}${Object.keys(parts)
      .slice(1)
      .map((part) => `, in its ${part}`)
      .join("")}`, async () => {
      const call = await publicFunction(name);
      for (const part of Object.keys(parts)) {
        const wrong: object = { noSuchOptionAnywhere: 1 };
        const options = part.split(".").reduceRight((inner, key) => (key ? { [key]: inner } : inner), wrong);
        const at = first.has(name) ? 0 : name === "runEvaluation" ? 2 : 1;
        const message = await outcome(() => call(...Array.from({ length: at }), options));
        assert.match(
          String(message),
          /has no option noSuchOptionAnywhere: (?:it has|did you mean)/,
          JSON.stringify(options),
        );
      }
    });
  }
});

async function publicFunction(name: string): Promise<(...given: unknown[]) => unknown> {
  for (const entry of entries) {
    const file = join(import.meta.dirname, "..", "src", entry, "index.ts");
    const module = (await import(pathToFileURL(file).href)) as Record<string, (...given: unknown[]) => unknown>;
    if (module[name]) return module[name];
  }
  throw new Error(`${name} is not public`);
}
