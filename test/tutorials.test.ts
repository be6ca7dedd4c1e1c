/** The tutorials in small: every command on the pages is one that exists, with flags that exist; the long tier runs them. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { commands } from "../src/cli/commands/index.ts";
import { coa } from "./fixtures/run-coa.ts";
import { tutorialBlocks } from "./fixtures/tutorial-page.ts";

const root = join(import.meta.dirname, "..");

describe("the tutorials", () => {
  for (const page of ["documents.md", "traces.md"]) {
    it(`${page} shows only commands and flags that there are`, async () => {
      const lines = tutorialBlocks(join(root, "docs", "tutorials", page)).flatMap(({ commands: typed }) => typed);
      const calls = lines.filter((line) => line.startsWith("npx chain-of-agents "));
      assert.ok(calls.length >= 5);
      for (const call of calls) {
        const args = (call.slice("npx chain-of-agents ".length).match(/"[^"]*"|\S+/g) ?? []).map((word) =>
          word.replaceAll('"', ""),
        );
        const name = args.slice(0, 2).join(" ") in commands ? args.slice(0, 2).join(" ") : args[0]!;
        assert.ok(name in commands, call);
        // With --help a command only reads its flags: an unknown one is refused before.
        assert.equal((await coa(...args, "--help")).code, 0, call);
      }
    });
  }
});
