import { once } from "node:events";
import { UsageError } from "../../core/errors.ts";
import { startProxy } from "../../record/proxy/start-proxy.ts";
import { unrecordedText } from "../../record/unrecorded.ts";
import { defineCommand, numberOf } from "../command.ts";
import { keysOf, recorderFlags } from "../serve-flags.ts";
import { budgetOf, budgetOptions } from "./budget-options.ts";
import { folderOption, recordingsFolder } from "./record-folder.ts";

const examples = [
  "coa record proxy --to https://api.openai.com",
  "coa record proxy --to http://localhost:8000/v1 --run-calls 50 --run-tokens 200000 --usd 5 --price 0.25,2",
  "coa record proxy --replay",
];

export default defineCommand({
  name: "record proxy",
  summary:
    "An address in front of your model server (OpenAI, Anthropic, Gemini, Ollama) that records every call, replays recordings, or keeps to a budget. Point your app's base URL at it; add /r/<run> to keep runs apart.",
  examples,
  options: {
    to: { type: "string", valueName: "url", describe: "The real server, with or without /v1" },
    folder: folderOption,
    replay: { type: "boolean", default: false, describe: "Answer from recordings; what was never recorded fails" },
    port: { type: "string", default: "4141", valueName: "n", describe: "Port to listen on (0: any)" },
    ...recorderFlags,
    ...budgetOptions,
  },
  async run({ values, out, signal }) {
    if (!values.replay && !values.to)
      throw new UsageError(`say which server to pass calls to. Example: ${examples[0]}`);
    const budget = budgetOf(values);
    const folder = await recordingsFolder(values.folder);
    let calls = 0;
    const proxy = await startProxy({
      ...(values.to && { to: values.to }),
      folder,
      mode: values.replay ? "replay" : "record",
      ...(budget && { budget }),
      port: numberOf(values.port, "port", { min: 0, max: 65535, integer: true })!,
      host: values.host,
      keys: (await keysOf(values["api-key-file"])).map(({ key }) => key),
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
