import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { snapshotFile } from "../scripts/public-api.ts";

const root = join(import.meta.dirname, "..");

describe("the public API", () => {
  it("has the names of docs/public-api.txt; npm run check compares every signature", () => {
    const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      exports: Record<string, { types?: string } | string>;
    };
    const blocks = Object.entries(exports).flatMap(([entry, target]) => {
      if (typeof target === "string" || !target.types) return [];
      const source = target.types.replace("./dist/", "src/").replace(/\.d\.ts$/, ".ts");
      const lists = readFileSync(join(root, source), "utf8").matchAll(/export (?:type )?\{([^}]*)\} from "/g);
      const names = [...lists].flatMap(([, list = ""]) =>
        list.split(",").map((item) => item.trim().split(" ").at(-1)!),
      );
      return [[`chain-of-agents${entry.slice(1)}`, names.filter((name) => name !== "").sort()] as const];
    });
    const kept = readFileSync(join(root, snapshotFile), "utf8").split("## ").slice(1);
    const names = kept.map((block) => {
      const [entry = "", ...lines] = block.trim().split("\n");
      return [entry, lines.map((line) => line.slice(0, line.indexOf(":"))).sort()] as const;
    });
    assert.deepEqual(Object.fromEntries(blocks), Object.fromEntries(names));
  });
});
