import { once } from "node:events";
import { nodeListener } from "../../base/http/handler.ts";
import { listen, readyLine } from "../../base/http/listen.ts";
import { routes } from "../../base/http/routes.ts";
import { openIndex } from "../../tools/local-index/open-index.ts";
import { retrieveRoute } from "../../tools/local-index/retrieve-handler.ts";
import { defineCommand, numberOf, onePositional } from "../command.ts";

export default defineCommand({
  name: "index serve",
  summary: "Serve an index as POST /retrieve, the protocol of retrieval servers, until Ctrl-C.",
  arguments: "<folder>",
  examples: ["coa index serve .coa/index/wiki --port 8000"],
  options: {
    port: { type: "string", default: "8000", valueName: "n", describe: "Port; 0 for any free one" },
    host: { type: "string", default: "127.0.0.1", valueName: "address", describe: "Address to listen on" },
    topk: {
      type: "string",
      default: "3",
      valueName: "n",
      describe: "Passages per query where the request does not say",
    },
  },
  async run({ values, positionals, out, signal }) {
    const folder = onePositional(this, positionals, "an index folder");
    const port = numberOf(values.port, "port", { min: 0, max: 65_535, integer: true });
    const index = await openIndex(folder);
    const topk = numberOf(values.topk, "topk", { min: 1, max: 1_000, integer: true });
    const server = await listen(nodeListener(routes({ "POST /retrieve": retrieveRoute(index, { topk }) })), {
      port,
      host: values.host,
    });
    const address = `${server.origin}/retrieve`;
    if (values.json) out.json({ address, passages: index.size });
    else out.print(`${index.size} passages at ${address} (Ctrl-C ends)\n${readyLine(server.origin)}`);
    if (!signal.aborted) await once(signal, "abort");
    await server.close();
    await index.close();
    return 0;
  },
});
