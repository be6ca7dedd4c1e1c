/**
 * Every public function that takes options refuses one that it does not have. The list is not written by hand: it is read
 * from docs/public-api.txt, which a test holds equal to the declarations, so a new function without the check fails here. The
 * same holds inside options that have options (`limits`, `schedule`, `access`, ...): a limit that is misspelt is no limit.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";

const root = join(import.meta.dirname, "..");

interface PublicFunction {
  entry: string;
  name: string;
  /** Which parameter the options are. */
  at: number;
  /** Which of them have options themselves. */
  parts: string[];
}

const api = readFileSync(join(root, "docs/public-api.txt"), "utf8").split("\n");
const interfaces = new Map(
  api.flatMap((line) => {
    const [, name, bases = "", body] = /^(\w+): interface \1(?:<.*?>)?(?: extends (.*?))? \{(.*)\}$/.exec(line) ?? [];
    return name === undefined ? [] : [[name, { bases, body: body! }]];
  }),
);

/** Declarations that are too long to stand there in full. */
const cutShort: Record<string, string[]> = {
  RlOptions: ["schedule", "optimizer", "loss", "corrections", "guard", "evaluation"],
};

/** Those fields of an options type that are an object of plain settings. */
function partsOf(type: string): string[] {
  const { bases = "", body = "" } = interfaces.get(type) ?? {};
  const flat = body.replace(/\{[^{}]*\{[^{}]*\}[^{}]*\}|\{[^{}]*\}/g, "{}");
  const own = flat.matchAll(
    /(\w+)\??: (?:(?:Partial<)?\w*(?:Limits|Sampling|Schedule|OptimizerStep|Options|Budget)>?|\{\});/g,
  );
  const inherited = [...bases.matchAll(/(?<!Pick<)\b[A-Z]\w*Options\b/g)].flatMap(([base]) => partsOf(base));
  return [...own].map(([, name]) => name!).concat(inherited, cutShort[type] ?? []);
}

function publicFunctions(): PublicFunction[] {
  const found: PublicFunction[] = [];
  let entry = "";
  for (const line of api) {
    if (line.startsWith("## ")) entry = line.slice("## chain-of-agents".length).replace(/^\//, "").trim();
    const start = /^(\w+): function \1(?:<.*?>)?\(/.exec(line);
    if (!start || entry === "testing") continue;
    const parameters = topLevel(line.slice(start[0].length));
    const at = parameters.findLastIndex((one) => /^options\??: |^\{[^}]*\}\??: \w*Options\b/.test(one));
    const type = /([A-Z]\w*)(?: = .*)?$/.exec(parameters[at] ?? "")?.[1] ?? "";
    if (at >= 0) found.push({ entry, name: start[1]!, at, parts: partsOf(type) });
  }
  return found;
}

/** The parameters of a declaration, up to its closing bracket. */
function topLevel(text: string): string[] {
  const parts = [""];
  let depth = 0;
  for (const [at, character] of [...text].entries()) {
    if (character === ")" && depth === 0) break;
    if ("([{<".includes(character)) depth++;
    else if (")]}".includes(character) || (character === ">" && text[at - 1] !== "=")) depth--;
    if (character === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += character;
  }
  return parts.map((part) => part.trim());
}

function fileOf(entry: string): string {
  return join(root, "src", entry === "" ? "index.ts" : join(entry === "files" ? "base/files" : entry, "index.ts"));
}

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
  const functions = publicFunctions();

  it("is looked for in a good number of functions", () => {
    assert.ok(functions.length > 80, `${functions.length}`);
  });

  it("is looked for in options of options", () => {
    const parts = functions.flatMap((one) => one.parts);
    assert.ok(parts.length > 25 && ["limits", "schedule", "access", "sampling"].every((name) => parts.includes(name)));
  });

  for (const { entry, name, at, parts } of functions) {
    it(`is refused by ${name}${parts.map((part) => `, in its ${part}`).join("")}`, async () => {
      const module = (await import(pathToFileURL(fileOf(entry)).href)) as Record<
        string,
        (...given: unknown[]) => unknown
      >;
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
