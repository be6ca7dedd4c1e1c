import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { messageOf } from "../../core/errors.ts";
import { openIndex } from "../../tools/local-index/open-index.ts";
import { retrieveHandler } from "../../tools/local-index/retrieve-handler.ts";
import { defineCommand, numberOf, onePositional } from "../command.ts";

const largestBody = 16_000_000;

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
    const handle = retrieveHandler(index, {
      topk: numberOf(values.topk, "topk", { min: 1, max: 1_000, integer: true }),
    });
    const server = createServer(async (request, response) => {
      try {
        const chunks: Buffer[] = [];
        let size = 0;
        for await (const chunk of request as AsyncIterable<Buffer>) {
          size += chunk.length;
          if (size > largestBody) return void response.writeHead(413).end();
          chunks.push(chunk);
        }
        const body = request.method === "GET" || request.method === "HEAD" ? undefined : Buffer.concat(chunks);
        const answer = await handle(new Request(`http://localhost${request.url}`, { method: request.method, body }));
        response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
      } catch (error) {
        response
          .writeHead(500, { "content-type": "application/json" })
          .end(JSON.stringify({ error: messageOf(error) }));
      }
    });
    server.listen(port, values.host);
    await once(server, "listening");
    const address = `http://${values.host}:${(server.address() as AddressInfo).port}/retrieve`;
    if (values.json) out.json({ address, passages: index.size });
    else out.print(`${index.size} passages at ${address} (Ctrl-C ends)`);
    if (!signal.aborted) await once(signal, "abort");
    server.closeAllConnections();
    server.close();
    await index.close();
    return 0;
  },
});
