import { UsageError } from "../../core/errors.ts";
import { toolHandler } from "../../serve/tool-handler.ts";
import { openIndex } from "../../tools/local-index/open-index.ts";
import { retrieveRoute } from "../../tools/local-index/retrieve-route.ts";
import { defineCommand } from "../command.ts";
import { openTools, withDocuments } from "../open-tools.ts";
import { portOptions, runServer } from "../serve-flags.ts";

export default defineCommand({
  summary:
    "Serve tools over HTTP and MCP: POST /tools/<name>, GET /tools, /mcp; with --docs or --index also POST /retrieve.",
  examples: [
    "coa serve tools --docs ./handbook --port 4243",
    "coa serve tools --tools wiki_search --index .coa/index/wiki",
  ],
  options: {},
  reads: ["server", "tools"],
  async run({ values, settings, out, signal, session }) {
    const port = await portOptions(settings.server);
    const indexed = { ...(await withDocuments(settings.tools, session)), docs: undefined };
    const { tools } = await openTools(indexed, session);
    const index = indexed.index === undefined ? undefined : session.closeAtEnd(await openIndex(indexed.index));
    if (tools.length === 0) throw new UsageError("no tool can be set up; see: coa tools");
    const routes = index && { "POST /retrieve": retrieveRoute(index, { topk: settings.tools.passages }) };
    return await runServer(toolHandler({ ...port.handler, tools, routes }), port, { out, signal, json: values.json });
  },
});
