/** Loading zod takes as long as all the rest of the root entry, and a program that runs chains may never read a record. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import * as mini from "zod/mini";
import { defineTool, toolJsonSchema } from "./tool.ts";

/** How many modules of zod a program loads. */
function loaded(program: string): number {
  const code = `const opened = [];
    const { registerHooks } = await import("node:module");
    registerHooks({ load: (url, context, next) => (opened.push(url), next(url, context)) });
    process.on("exit", () => console.error("zod: " + opened.filter((url) => url.includes("/zod/")).length));
    ${program}`;
  const { stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" });
  return Number(/zod: (\d+)/.exec(stderr)?.[1]);
}
const source = (file: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, "..", file)).href);

describe("zod", () => {
  it("is not loaded by a program that only imports the package, nor by the first answers of the command", () => {
    assert.equal(loaded(`await import(${source("index.ts")})`), 0);
    assert.ok(loaded(`await import(${source("base/files/index.ts")})`) > 0);
    for (const flag of ["--version", "--help"])
      assert.equal(
        loaded(`process.argv = ["node", "coa", "${flag}"]; await (await import(${source("cli/main.ts")})).start();`),
        0,
        flag,
      );
  });

  it("gives the JSON Schema of a tool in each of its forms", () => {
    const wanted = { type: "object", properties: { url: { type: "string" } }, required: ["url"] };
    const tool = (input: z.ZodType) => defineTool({ name: "x", description: "", input, run: () => "" });
    for (const input of [z.object({ url: z.string() }), mini.object({ url: mini.string() }) as never as z.ZodType]) {
      const { $schema: _schema, ...schema } = toolJsonSchema(tool(input));
      assert.deepEqual(schema, wanted);
    }
  });
});
