import { once } from "node:events";
import { startCollector } from "../../record/collector/start-collector.ts";
import { defineCommand, numberOf } from "../command.ts";
import { keysOf, recorderFlags } from "../serve-flags.ts";
import { folderOption, recordingsFolder } from "./record-folder.ts";

export default defineCommand({
  name: "record collect",
  summary:
    "One port for the traces your system already sends: OTLP (JSON and protobuf), LangSmith, OpenAI Agents. What the proxy saw of the same calls is joined with them.",
  examples: [
    "coa record collect",
    "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 node app.js",
    "LANGSMITH_TRACING=true LANGSMITH_ENDPOINT=http://127.0.0.1:4318 LANGSMITH_API_KEY=x node app.js",
  ],
  options: {
    folder: folderOption,
    port: { type: "string", default: "4318", valueName: "n", describe: "Port to listen on (0: any)" },
    ...recorderFlags,
  },
  async run({ values, out, signal }) {
    const folder = await recordingsFolder(values.folder);
    let spans = 0;
    const collector = await startCollector({
      folder,
      port: numberOf(values.port, "port", { min: 0, max: 65535, integer: true })!,
      host: values.host,
      keys: (await keysOf(values["api-key-file"])).map(({ key }) => key),
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
