import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { flagsOf } from "../src/cli/command.ts";
import { commands } from "../src/cli/commands/index.ts";

/** Commands in the recipe can't be run without a cluster; that they exist with these flags can be held. */
describe("recipes/reproduce-paper.md", () => {
  const text = readFileSync(join(import.meta.dirname, "..", "recipes", "reproduce-paper.md"), "utf8");
  const lines = [...text.matchAll(/^coa .*|`(coa [^`]*)`/gm)].map((match) => (match[1] ?? match[0]).trim());

  it("names only commands and flags that exist", async () => {
    assert.ok(lines.length > 12);
    const wrong: string[] = [];
    for (const line of lines) {
      const words = line.split(/\s+/).slice(1);
      const name = [words.slice(0, 2).join(" "), words[0]!].find((one) => one in commands);
      if (name === undefined) {
        wrong.push(line);
        continue;
      }
      const { default: command } = await commands[name]!.load();
      const known = new Set(Object.keys(flagsOf(command)));
      for (const [, flag] of line.matchAll(/--([a-z-]+)/g)) if (!known.has(flag!)) wrong.push(`${name}: --${flag}`);
    }
    assert.deepEqual(wrong, []);
  });
});
