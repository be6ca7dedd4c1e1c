import { UsageError } from "../../core/errors.ts";
import { toolHandler } from "../../serve/tool-handler.ts";
import { openIndex } from "../../tools/local-index/open-index.ts";
import { retrieveRoute } from "../../tools/local-index/retrieve-handler.ts";
import { defineCommand } from "../command.ts";
import { openTools, toolFlags } from "../open-tools.ts";
import { runServer } from "../run-server.ts";
import { portFlags, portOptions } from "../serve-flags.ts";

export default defineCommand({
  name: "serve tools",
  summary:
    "Serve tools over HTTP: POST /tools/<name>, POST /tools/batch, GET /tools; with --index also POST /retrieve.",
  examples: [
    "coa serve tools --docs ./handbook --port 4243",
    "coa serve tools --tools wiki_search --index .coa/index/wiki",
  ],
  options: { ...toolFlags, ...portFlags },
  async run({ values, out, signal }) {
    const port = await portOptions(values);
    const { tools, close } = await openTools(values, { signal });
    const index = values.index === undefined ? undefined : await openIndex(values.index);
    try {
      if (tools.length === 0) throw new UsageError("no tool can be set up; see: coa tools");
      const routes = index && { "POST /retrieve": retrieveRoute(index) };
      return await runServer(toolHandler({ ...port, tools, routes }), port, { out, signal, json: values.json });
    } finally {
      await index?.close();
      await close();
    }
  },
});
