import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { z } from "zod";
import { good, withServer } from "../../../test/fixtures/serve-server.ts";
import { defineTool } from "../../core/tool.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { scriptedModel } from "../../testing/index.ts";
import { connectMcp } from "../../tools/mcp/connect-mcp.ts";
import { serve } from "../serve.ts";
import { toolHandler } from "../tool-handler.ts";

// biome-ignore lint/suspicious/noExplicitAny: results of a foreign library
type Loose = any;

async function withClient(
  origin: string,
  use: (client: Client) => Promise<void>,
  headers: Record<string, string> = {},
): Promise<void> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp`), { requestInit: { headers } }));
  try {
    await use(client);
  } finally {
    await client.close();
  }
}

describe("the MCP endpoint of a chain", () => {
  it("answers ask_chain with text, structure and progress, and counts it as a chain", async () => {
    await withServer({}, async (ask, origin) => {
      await withClient(origin, async (client) => {
        const { tools } = await client.listTools();
        assert.deepEqual(
          tools.map(({ name }) => name),
          ["ask_chain"],
        );
        const steps: string[] = [];
        const called: Loose = await client.callTool(
          { name: "ask_chain", arguments: { question: "Where does Ada live?" } },
          { onprogress: ({ message }: Loose) => void steps.push(message) },
        );
        assert.deepEqual(called.content, [{ type: "text", text: "Lyon" }]);
        assert.equal(called.structuredContent.answer, "Lyon");
        assert.equal(called.structuredContent.tool_calls, 1);
        assert.match(called.structuredContent.trajectory_id, /^chain_/);
        assert.deepEqual(steps, ["think: look it up", "wiki_search: Ada", "think: there"]);
        const wrong: Loose = await client.callTool({ name: "ask_chain", arguments: {} });
        assert.equal(wrong.isError, true);
        await assert.rejects(client.callTool({ name: "nothing", arguments: {} }), /no tool "nothing"/);
      });
      assert.match(await (await ask("/metrics")).text(), /coa_chains_total\{ending="answered"\} 1/);
    });
  });

  it("runs chains that belong to the key that asked, with the instructions that came along", async () => {
    const owners: unknown[] = [];
    const model = scriptedModel(good);
    const onTrajectory = ({ owner }: Trajectory) => void owners.push(owner);
    await withServer({ model, onTrajectory, keys: [{ key: "sk-test-key" }] }, async (ask, origin) => {
      const headers = { authorization: "Bearer sk-test-key" };
      const given = { question: "Where does Ada live?", instructions: "Answer in one word." };
      await withClient(origin, (client) => client.callTool({ name: "ask_chain", arguments: given }).then(() => {}), headers); // biome-ignore format: one call
      assert.match(model.requests[0]!.prompt[0]!.content, /Answer in one word\.$/);
      await (await ask("/v1/chat/completions", { messages: [{ role: "user", content: "And now?" }] }, headers)).json();
    });
    assert.equal(typeof owners[0], "string");
    assert.deepEqual(owners, [owners[0], owners[0]]);
  });

  it("offers the chain alone, asks for the key, and refuses foreign pages", async () => {
    await withServer({ keys: [{ key: "sk-test-key" }] }, async (ask, origin) => {
      const headers = { authorization: "Bearer sk-test-key" };
      await withClient(
        origin,
        async (client) => {
          const names = (await client.listTools()).tools.map(({ name }) => name);
          assert.deepEqual(names, ["ask_chain"]);
        },
        headers,
      );
      await assert.rejects(withClient(origin, async () => {}));
      const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
      const refused = await ask("/mcp", list, { ...headers, origin: "http://evil.example" });
      assert.equal(refused.status, 403);
      assert.equal(((await refused.json()) as Loose).jsonrpc, "2.0");
      assert.equal((await ask("/mcp", undefined, headers)).status, 405);
    });
  });

  it("stops the chain of a client that leaves", async () => {
    const begun = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    const endless = scriptedModel(
      ({ signal }) =>
        new Promise((_resolve, reject) => {
          begun.resolve();
          signal?.addEventListener("abort", () => {
            left.resolve();
            reject(signal.reason);
          });
        }),
    );
    await withServer({ model: endless }, async (_ask, origin) => {
      await withClient(origin, async (client) => {
        const controller = new AbortController();
        const calling = client.callTool(
          { name: "ask_chain", arguments: { question: "?" } },
          { signal: controller.signal, onprogress: () => {} },
        );
        calling.catch(() => {});
        await begun.promise;
        controller.abort();
        await assert.rejects(calling);
      });
      await left.promise;
    });
  });
});

describe("the MCP endpoint of a tool server", () => {
  it("joins the tools of another chain, with their schemas and failures", async () => {
    const double = defineTool({
      name: "double",
      description: "Twice a number.",
      input: z.object({ n: z.number() }),
      run({ n }) {
        if (n === 13) throw new Error("bad luck");
        return n * 2;
      },
    });
    const server = await serve(toolHandler({ tools: [double] }), {});
    const connection = await connectMcp({ url: `${server.origin}/mcp` });
    try {
      const [tool] = connection.tools;
      assert.equal(tool?.name, "double");
      assert.match(JSON.stringify(tool?.inputSchema), /"n":\{"type":"number"/);
      const context = { signal: new AbortController().signal };
      assert.equal(await tool?.execute({ n: 4 }, context), "8");
      await assert.rejects(async () => tool?.execute({ n: 13 }, context), /bad luck/);
    } finally {
      await connection.close();
      await server.stop(1000);
    }
  });
});
