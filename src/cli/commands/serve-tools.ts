import { UsageError } from "../../core/errors.ts";
import { toolHandler } from "../../serve/tool-handler.ts";
import { openIndex } from "../../tools/local-index/open-index.ts";
import { retrieveRoute } from "../../tools/local-index/retrieve-handler.ts";
import { defineCommand, numberOf } from "../command.ts";
import { openTools, toolFlags, withDocuments } from "../open-tools.ts";
import { runServer } from "../run-server.ts";
import { handlerOptions, portOptions } from "../serve-flags.ts";

export default defineCommand({
  name: "serve tools",
  summary:
    "Serve tools over HTTP and MCP: POST /tools/<name>, POST /tools/batch, GET /tools, /mcp; with --docs or --index also POST /retrieve.",
  examples: [
    "coa serve tools --docs ./handbook --port 4243",
    "coa serve tools --tools wiki_search --index .coa/index/wiki",
  ],
  options: {
    ...toolFlags,
    topk: { type: "string", default: "3", valueName: "n", describe: "Passages of POST /retrieve where the request does not say" },
  }, // biome-ignore format: one flag a line
  reads: ["serve"],
  async run({ values, settings, out, signal }) {
    const port = await portOptions(settings.serve);
    const topk = numberOf(values.topk, "topk", { min: 1, max: 1_000, integer: true });
    const flags = { ...(await withDocuments(values, signal)), docs: undefined };
    const { tools, close } = await openTools(flags, { signal });
    const index = flags.index === undefined ? undefined : await openIndex(flags.index);
    try {
      if (tools.length === 0) throw new UsageError("no tool can be set up; see: coa tools");
      const routes = index && { "POST /retrieve": retrieveRoute(index, { topk }) };
      return await runServer(toolHandler({ ...handlerOptions(port), tools, routes }), port, {
        out,
        signal,
        json: values.json,
      });
    } finally {
      await index?.close();
      await close();
    }
  },
});
