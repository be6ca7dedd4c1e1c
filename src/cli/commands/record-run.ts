import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, delimiter, join, resolve } from "node:path";
import { UsageError } from "../../core/errors.ts";
import { readCallLog } from "../../record/call-log.ts";
import { callsToRuns } from "../../record/calls-to-runs.ts";
import { type RecordingProxy, startProxy } from "../../record/proxy/start-proxy.ts";
import { resolveItems } from "../../record/resolve-items.ts";
import { exchangeToCall, type WireExchange } from "../../record/wire-exchange.ts";
import { defineCommand, MissingArgument } from "../command.ts";
import { text } from "../setting.ts";
import { budgetOf, recordingsFolder } from "./record-options.ts";

export default defineCommand({
  summary:
    "Run a program with the recorder loaded into it: Node and Python without a code change, anything else by base-URL variables",
  arguments: "-- <command…>",
  examples: [
    "coa record run -- node app.js",
    "coa record run -- python app.py",
    "coa record run --id tuesday -- npm start",
    "coa record run --set record.maxCalls=200 --max-usd 5 --price 0.25,2,0.03 -- uv run app.py",
  ],
  options: { id: text("One run id for the whole program", { valueName: "run" }) },
  reads: ["record", "spending"],
  async run({ values, settings, positionals, out, signal }) {
    const [command, ...args] = positionals;
    if (command === undefined) throw new MissingArgument("a command");
    const budget = budgetOf(settings);
    const folder = resolve(await recordingsFolder(settings.record.folder));
    const before = new Set(await logsIn(folder));
    const guests = randomBytes(16).toString("hex");
    const onProblem = (message: string) => out.note(message);
    const proxy = await startProxy({ folder, guests, ...(budget && { budget }), onProblem });
    const child = spawn(command, args, {
      stdio: "inherit",
      signal,
      env: {
        ...process.env,
        ...recordedBy(command, proxy, guests),
        COA_RECORD_DIR: folder,
        ...(values.id !== undefined && { COA_RUN: values.id }),
        ...(budget && { COA_BUDGET: JSON.stringify(budget) }),
      },
    });
    const code = await new Promise<number>((done, fail) => {
      child.once("error", (error) => fail(new UsageError(`can't run ${command}: ${error.message}`, { cause: error })));
      child.once("exit", (status) => done(status ?? 1));
    }).finally(() => proxy.close());
    const written = (await logsIn(folder)).filter((name) => !before.has(name));
    const exchanges: WireExchange[] = [];
    for (const name of written) exchanges.push(...(await Array.fromAsync(readCallLog(join(folder, name)))));
    const told = resolveItems(exchanges).flatMap((exchange) => exchangeToCall(exchange) ?? []);
    const calls = told.filter(({ given }) => !given);
    const runs = callsToRuns(told, "record run");
    const known = runs.filter((run) => !run.completeness.inferred?.includes("run")).length;
    if (values.json) out.json({ folder, calls: calls.length, runs: runs.length, known });
    if (calls.length === 0) {
      out.note(
        `no model call was recorded: ${command} made none, or by a way that is not followed. Point its base URL at coa record proxy`,
      );
      return code || 1;
    }
    const how = known === runs.length ? "known" : `${known} known, ${runs.length - known} inferred`;
    out.note(`recorded ${calls.length} calls in ${runs.length} runs (${how}): coa show ${folder}`);
    return code;
  },
});

async function logsIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [])).filter((name) => /^calls-.*\.jsonl$/.test(name)).sort();
}

/** What makes a program record itself: Node and Python load a recorder; others are pointed at the proxy. */
function recordedBy(command: string, proxy: RecordingProxy, guests: string): Record<string, string> {
  const { NODE_OPTIONS = "", PYTHONPATH = "" } = process.env;
  const register = import.meta.url.endsWith(".ts") ? "register.ts" : "register.js";
  const python = ["../../../python", "../../python"].map((path) => join(import.meta.dirname, path)).find(existsSync);
  const at = `${proxy.origin}/t/${guests}`;
  return {
    NODE_OPTIONS: `${NODE_OPTIONS} --import=${new URL(`../../record/${register}`, import.meta.url).href}`.trim(),
    ...(python !== undefined && { PYTHONPATH: [python, PYTHONPATH].filter((path) => path !== "").join(delimiter) }),
    COA_PROXY: at,
    // Several SDKs send traces over gRPC by default, which a collector of HTTP never sees.
    OTEL_EXPORTER_OTLP_PROTOCOL: process.env["OTEL_EXPORTER_OTLP_PROTOCOL"] ?? "http/protobuf",
    ...(loadsRecorder.test(basename(command)) ? {} : baseUrls(at)),
  };
}

/** Programs that start Node or Python, which follow their calls better from inside. */
const loadsRecorder =
  /^(?:node|npm|npx|pnpm|yarn|tsx|python[\d.]*|pip|uv|uvx|poetry|pdm|hatch|pytest|ipython|jupyter)(?:\.\w+)?$/;

/** The variables by which clients of model servers are pointed elsewhere; each server keeps the address it had. */
function baseUrls(at: string): Record<string, string> {
  const servers = {
    OPENAI_BASE_URL: "https://api.openai.com/v1",
    OPENAI_API_BASE: "https://api.openai.com/v1",
    ANTHROPIC_BASE_URL: "https://api.anthropic.com",
    GOOGLE_GEMINI_BASE_URL: "https://generativelanguage.googleapis.com",
    OLLAMA_HOST: "http://127.0.0.1:11434",
  };
  return Object.fromEntries(
    Object.entries(servers).map(([name, usual]) => {
      const { origin, pathname } = new URL(process.env[name] || usual);
      return [name, `${at}/${Buffer.from(origin).toString("base64url")}${pathname.replace(/\/$/, "")}`];
    }),
  );
}
