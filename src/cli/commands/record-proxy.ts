import { once } from "node:events";
import { UsageError } from "../../core/errors.ts";
import type { BudgetLimits } from "../../record/budget.ts";
import { startProxy } from "../../record/proxy/start-proxy.ts";
import { unrecordedText } from "../../record/unrecorded.ts";
import { defineCommand, numberOf } from "../command.ts";
import { pricesOf } from "../flag-values.ts";
import { folderOption, priceOption, recordingsFolder } from "./record-folder.ts";

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
    host: { type: "string", default: "127.0.0.1", valueName: "address", describe: "Address to listen on" },
    "run-calls": { type: "string", valueName: "n", describe: "Most calls of one run" },
    "run-tokens": { type: "string", valueName: "n", describe: "Most tokens of one run" },
    "run-usd": { type: "string", valueName: "dollars", describe: "Most money of one run (needs --price)" },
    calls: { type: "string", valueName: "n", describe: "Most calls in all" },
    tokens: { type: "string", valueName: "n", describe: "Most tokens in all" },
    usd: { type: "string", valueName: "dollars", describe: "Most money in all (needs --price)" },
    price: priceOption,
  },
  async run({ values, out, signal }) {
    if (!values.replay && !values.to)
      throw new UsageError(`say which server to pass calls to. Example: ${examples[0]}`);
    const limit = (name: "run-calls" | "run-tokens" | "run-usd" | "calls" | "tokens" | "usd") =>
      numberOf(values[name], name, { min: 0 });
    const perRun = limits(limit("run-calls"), limit("run-tokens"), limit("run-usd"));
    const total = limits(limit("calls"), limit("tokens"), limit("usd"));
    const prices = pricesOf(values.price ?? []);
    if ((perRun.usd !== undefined || total.usd !== undefined) && Object.keys(prices).length === 0) {
      throw new UsageError("a limit on money needs prices: --price 0.25,2 (dollars for a million tokens, in and out)");
    }
    const limited = Object.keys(perRun).length + Object.keys(total).length > 0;
    const folder = await recordingsFolder(values.folder);
    let calls = 0;
    const proxy = await startProxy({
      ...(values.to && { to: values.to }),
      folder,
      mode: values.replay ? "replay" : "record",
      ...(limited && { budget: { perRun, total, prices } }),
      port: numberOf(values.port, "port", { min: 0, max: 65535, integer: true })!,
      host: values.host,
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
      out.print(`  recordings:  ${folder}\n  then:        coa record list`);
    }
    if (!signal.aborted) await once(signal, "abort");
    const missed = proxy.unrecorded();
    await proxy.close();
    out.endProgress();
    if (missed.length > 0) out.note(unrecordedText(missed));
    return 0;
  },
});

function limits(calls?: number, tokens?: number, usd?: number): BudgetLimits {
  return {
    ...(calls !== undefined && { calls }),
    ...(tokens !== undefined && { tokens }),
    ...(usd !== undefined && { usd }),
  };
}
