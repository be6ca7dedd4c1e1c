import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { describe, it } from "node:test";
import { escapeHtml, htmlPage, htmlTable } from "./page.ts";

/** Files that a file loads when it runs, directly or not; types are gone by then. */
async function loaded(file: string, seen = new Map<string, string[]>()): Promise<Map<string, string[]>> {
  if (seen.has(file)) return seen;
  const text = await readFile(file, "utf8");
  const names = [...text.matchAll(/^(?:import|export) (?!type )[^;]*? from "([^"]+)";/gm)].map((found) => found[1]!);
  seen.set(file, names);
  for (const name of names) if (name.startsWith(".")) await loaded(resolve(dirname(file), name), seen);
  return seen;
}

describe("report/", () => {
  it("loads nothing that a browser lacks, and nothing of ours but core", async () => {
    const here = import.meta.dirname;
    for (const name of await readdir(here)) {
      if (!name.endsWith(".ts") || name.endsWith(".test.ts")) continue;
      for (const [file, names] of await loaded(join(here, name))) {
        assert.match(relative(join(here, ".."), file), /^(?:core|report)\//);
        for (const other of names) assert.ok(other.startsWith(".") || other === "zod", `${file} loads ${other}`);
      }
    }
  });

  it("escapes everything that is not marked as HTML", () => {
    const hostile = `<img src=x onerror="x">'&`;
    assert.equal(escapeHtml(hostile), "&lt;img src=x onerror=&quot;x&quot;&gt;&#39;&amp;");
    const page = htmlPage(hostile, htmlTable([["a"], [hostile], [{ html: "<b>kept</b>" }]]));
    assert.ok(!page.includes("<img"));
    assert.ok(page.includes("<b>kept</b>"));
  });
});
