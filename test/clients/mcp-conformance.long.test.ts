/** The official conformance tool of the Model Context Protocol against our endpoint: every scenario that a server of tools can be asked. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { z } from "zod";
import { defineTool } from "../../src/core/tool.ts";
import { serve } from "../../src/serve/serve.ts";
import { toolHandler } from "../../src/serve/tool-handler.ts";
import { withServer } from "../fixtures/serve-server.ts";

const tool = join(import.meta.dirname, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const skip = existsSync(tool) ? false : "install the frameworks first: npm install --prefix test/clients";

async function run(origin: string, scenario: string): Promise<void> {
  const child = spawn(process.execPath, [tool, "server", "--url", `${origin}/mcp`, "--scenario", scenario]);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += text));
  const [code] = await once(child, "close");
  assert.equal(code, 0, `${scenario}: ${said}`);
  assert.match(said, /Passed: (\d+)\/\1, 0 failed/, scenario);
}

/** Tools that the scenarios call by name. */
const input = z.object({});
const fixtures = [
  defineTool({
    name: "test_simple_text",
    description: "Says a sentence.",
    input,
    run: () => "This is a simple text response for testing.",
  }),
  defineTool({
    name: "test_error_handling",
    description: "Fails.",
    input,
    run(): string {
      throw new Error("This tool intentionally returns an error for testing");
    },
  }),
];

describe("the MCP conformance tool", { skip }, () => {
  it("passes a served chain", async () => {
    await withServer({}, async (_ask, origin) => {
      for (const scenario of ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"])
        await run(origin, scenario);
    });
  });

  it("passes a tool server, calls and failures included", async () => {
    const server = await serve(toolHandler({ tools: fixtures }), {});
    try {
      for (const scenario of ["server-initialize", "tools-list", "tools-call-simple-text", "tools-call-error"])
        await run(server.origin, scenario);
    } finally {
      await server.stop(1000);
    }
  });
});
