/** A tool of the user's own reaches the model: prompt, calls and observations know it, without a profile of its own. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { CoaError } from "../src/index.ts";
import { type ModelServer, startModelServer } from "./fixtures/model-server.ts";
import { coa } from "./fixtures/run-coa.ts";

let server: ModelServer;
let folder = "";

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-own-tools-"));
  server = await startModelServer({
    models: { data: [{ id: "m", owned_by: "vllm" }] },
    keepStop: true,
    answer: ({ body }) =>
      JSON.stringify(body["messages"]).includes("in stock: 17")
        ? "<think>done</think><suggested_answer>17</suggested_answer><think>it fits</think><double_check>The score this time is:4</double_check><answer>17</answer>"
        : '<think>look it up</think><plan>ask the stock</plan><think>now</think><stock_level>{"item":"bolt"}</stock_level>',
  });
  await writeFile(
    join(folder, "stock.mjs"),
    `export default { stock_level: {
      description: "How many of an item are in stock",
      inputSchema: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
      execute: ({ item }) => item + " in stock: 17",
    } };\n`,
  );
});
after(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

describe("--tool", () => {
  it("gives the model an AI SDK tool by the name it is exported under", async () => {
    const question = ["ask", "How many bolts are there?", "--base-url", server.url, "--tools", "stock_level"];
    const { stdout, stderr } = await coa(...question, "--tool", join(folder, "stock.mjs"), "--json");
    const { answer, segments, violations } = JSON.parse(stdout) as {
      answer: string;
      segments: { tag: string; text: string }[];
      violations: unknown[];
    };
    assert.equal(answer, "17", stderr);
    assert.match(segments.find(({ tag }) => tag === "observation")?.text ?? "", /bolt in stock: 17/);
    assert.deepEqual(violations, []);
    const prompt = JSON.stringify(server.requests.at(-1)?.body["messages"]);
    assert.match(prompt, /stock_level.*How many of an item are in stock/s);
    assert.doesNotMatch(prompt, /web_search/);
  });

  it("takes TypeScript where npm init says CommonJS, a tool alone by its file's name, and tools under names", async () => {
    const here = join(folder, "commonjs");
    await mkdir(here);
    await writeFile(join(here, "package.json"), '{ "type": "commonjs" }');
    const tool = `{ description: "d", inputSchema: { type: "object", properties: {} }, execute: (): string => "x" }`;
    await writeFile(join(here, "tide-table.ts"), `import "./other.ts";\nexport default ${tool};\n`);
    await writeFile(
      join(here, "other.ts"),
      `export const moon = ${tool};\nexport const note: string = "not a tool";\n`,
    );
    const files = ["--tool", join(here, "tide-table.ts"), "--tool", join(here, "other.ts")];
    const { stdout } = await coa("tools", "--json", ...files);
    const own = (JSON.parse(stdout) as { name: string; detail: string }[]).filter(({ detail }) =>
      detail.startsWith(here),
    );
    assert.deepEqual(
      own.map(({ name }) => name),
      ["tide_table", "moon"],
    );
    await writeFile(join(here, "broken.ts"), "export default {\n  tags: [,\n");
    for (const flag of ["--tool", "--profile"])
      await assert.rejects(
        coa("ask", "q", "--base-url", server.url, flag, join(here, "broken.ts")),
        (error: Error) =>
          error instanceof CoaError && error.boundary === "usage" && /broken\.ts can't be loaded: /.test(error.message),
      );
  });

  it("refuses to leave tools and documents out of a lab world in silence", async () => {
    for (const [flag, value] of [
      ["--tool", join(folder, "stock.mjs")],
      ["--docs", folder],
      ["--mcp", "node server.js"],
    ] as const)
      await assert.rejects(coa("ask", "--lab", "7", flag, value), new RegExp(`${flag} can't be used in the lab`));
  });

  it("says what is wrong with a module", async () => {
    const base = ["ask", "q", "--base-url", server.url, "--tool"];
    await assert.rejects(coa(...base, join(folder, "none.mjs")), /there is no such file/);
    await writeFile(join(folder, "empty.mjs"), "export const nothing = 1;\n");
    await assert.rejects(coa(...base, join(folder, "empty.mjs")), /exports no tool/);
  });
});
