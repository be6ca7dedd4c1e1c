import { once } from "node:events";
import { startCollector } from "../../record/collector/start-collector.ts";
import { defineCommand } from "../command.ts";
import { keysOf, portFlag } from "../serve-flags.ts";
import { recordingsFolder } from "./record-options.ts";

export default defineCommand({
  summary:
    "One port for the traces your system already sends: OTLP (JSON and protobuf), LangSmith, OpenAI Agents. What the proxy saw of the same calls is joined with them.",
  examples: [
    "coa record collect",
    "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 node app.js",
    "LANGSMITH_TRACING=true LANGSMITH_ENDPOINT=http://127.0.0.1:4318 LANGSMITH_API_KEY=x node app.js",
  ],
  options: { port: portFlag(4318) },
  reads: ["record", "server"],
  async run({ values, settings, out, signal }) {
    const folder = await recordingsFolder(settings.record.folder);
    let spans = 0;
    const collector = await startCollector({
      folder,
      port: values.port,
      host: settings.server.host,
      keys: (await keysOf(settings.server.apiKeyFile)).map(({ key }) => key),
      onProblem: (message) => out.note(message),
      onBatch(batch) {
        spans += batch.spans;
        out.progress({ stage: "spans collected", done: spans });
      },
    });
    if (values.json) out.json({ url: collector.url, folder });
    else {
      out.print(`collecting at ${collector.url}`);
      out.print("  OTLP:          /v1/traces\n  LangSmith:     LANGSMITH_ENDPOINT at this address");
      out.print(`  OpenAI Agents: /v1/traces/ingest\n  recordings:    ${folder}`);
    }
    if (!signal.aborted) await once(signal, "abort");
    await collector.close();
    out.endProgress();
    return 0;
  },
});
