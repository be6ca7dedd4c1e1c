import { once } from "node:events";
import { UsageError } from "../../core/errors.ts";
import { startProxy } from "../../record/proxy/start-proxy.ts";
import { unrecordedText } from "../../record/unrecorded.ts";
import { defineCommand } from "../command.ts";
import { keysOf, portFlag } from "../serve-flags.ts";
import { text, toggle } from "../setting.ts";
import { budgetOf, recordingsFolder } from "./record-options.ts";

const examples = [
  "coa record proxy --to https://api.openai.com",
  "coa record proxy --to http://localhost:8000/v1 --set record.maxCallsPerRun=50 --max-usd 5 --price 0.25,2",
  "coa record proxy --replay",
];

export default defineCommand({
  summary:
    "An address in front of your model server (OpenAI, Anthropic, Gemini, Ollama) that records every call, replays recordings, or keeps to a budget. Point your app's base URL at it; add /r/<run> to keep runs apart.",
  examples,
  options: {
    to: text("The real server, with or without /v1", { valueName: "url" }),
    replay: toggle("Answer from recordings; what was never recorded fails"),
    port: portFlag(4141),
  },
  reads: ["record", "spending", "server"],
  async run({ values, settings, out, signal }) {
    if (!values.replay && !values.to)
      throw new UsageError(`name the server that calls are passed on to. Example: ${examples[0]}`);
    const budget = budgetOf(settings);
    const folder = await recordingsFolder(settings.record.folder);
    let calls = 0;
    const proxy = await startProxy({
      ...(values.to && { to: values.to }),
      folder,
      mode: values.replay ? "replay" : "record",
      ...(budget && { budget }),
      port: values.port,
      host: settings.server.host,
      keys: (await keysOf(settings.server.apiKeyFile)).map(({ key }) => key),
      onProblem: (message) => out.note(message),
      onExchange: () => out.progress({ stage: "calls recorded", done: ++calls }),
    });
    if (values.json) out.json({ url: proxy.url, origin: proxy.origin, folder });
    else {
      out.print(`${values.replay ? "replaying" : "recording"} at ${proxy.url}`);
      out.print(
        `  for one run: ${proxy.urlOf("<run>").replaceAll(/%3C|%3E/g, (code) => (code === "%3C" ? "<" : ">"))}`,
      );
      out.print(`  Anthropic, Gemini, Ollama: ${proxy.origin}`);
      out.print(`  recordings:  ${folder}\n  then:        coa show ${folder}`);
    }
    if (!signal.aborted) await once(signal, "abort");
    const missed = proxy.unrecorded();
    await proxy.close();
    out.endProgress();
    if (missed.length > 0) out.note(unrecordedText(missed));
    return 0;
  },
});
