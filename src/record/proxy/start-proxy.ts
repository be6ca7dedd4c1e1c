/**
 * The recording proxy: an address in front of a model server, whatever API it speaks. It records what passes, answers
 * from a recording instead, or enforces a budget; the program that talks to it changes one base URL and nothing else.
 */

import { randomUUID } from "node:crypto";
import type { Agent } from "node:http";
import type { z } from "zod";
import { type Replay, replayOf } from "../../base/files/call-store.ts";
import { accessOf } from "../../base/http/access.ts";
import { type Call, faults, guarded } from "../../base/http/guard.ts";
import { unpack } from "../../base/http/handler.ts";
import { listen } from "../../base/http/listen.ts";
import { Refusal } from "../../base/http/refusal.ts";
import { headerSecrets, redactSecrets } from "../../base/redact/redact.ts";
import { apiOf } from "../../base/wire/apis.ts";
import { checkOptions } from "../../base/work/check-options.ts";
import { steadyNow } from "../../base/work/steady-clock.ts";
import { messageOf, UsageError } from "../../core/errors.ts";
import { fetchedId, isFinal } from "../background.ts";
import { type Budget, broughtBy, type budgetOptionsSchema, createBudget } from "../budget.ts";
import { type CallLog, openCallLog, readCallLogs, writeUnrecorded } from "../call-log.ts";
import { budgetRefusal } from "../recorded-call.ts";
import { redactResponse } from "../redact-response.ts";
import { type Unrecorded, type UnrecordedCounter, unrecordedCounter } from "../unrecorded.ts";
import { givenPath, isRecorded, type WireExchange } from "../wire-exchange.ts";
import { type Forwarded, forward } from "./forward.ts";
import { guestRequest } from "./guest-request.ts";
import { runOfRequest } from "./run-of-request.ts";
import { upstreamUrl } from "./upstream-url.ts";

export interface ProxyOptions {
  /** Where the real server is, with or without `/v1`; not needed for replay. */
  to?: string;
  folder: string;
  /** Record what passes (default), or answer from the folder's recordings without any server. */
  mode?: "record" | "replay";
  /** Programs that know this token may name the server themselves: `/t/<token>/<server>/…` (guest-request.ts). */
  guests?: string;
  budget?: z.infer<typeof budgetOptionsSchema>;
  port?: number;
  host?: string;
  /** Changes bodies before they are written, after secrets are gone. */
  redact?: (value: unknown) => unknown;
  maxRequestBytes?: number;
  /** How much of one answer is kept; a longer one passes whole and is recorded as cut. */
  maxKeptBytes?: number;
  /** Keys that programs must bring in `x-coa-key`, beside the one of their model server; beyond this machine one is needed. */
  keys?: readonly string[];
  /** Web pages and host names that may use the proxy, besides this machine's own. */
  access?: { origins?: readonly string[]; hosts?: readonly string[] };
  /** Called with what a person should know: misses, refusals, records that could not be written. */
  onProblem?: (message: string) => void;
  /** @internal */
  onExchange?: (exchange: WireExchange) => void;
}

export interface RecordingProxy {
  /** For clients of the OpenAI protocol: with `/v1`. */
  url: string;
  /** For clients that bring their own paths: Anthropic, Gemini, Ollama. */
  origin: string;
  urlOf(runId: string): string;
  /** @internal */
  budget?: Budget;
  /** What passed without being recorded, so far. @internal */
  unrecorded(): Unrecorded[];
  close(): Promise<void>;
}

interface Setup extends ProxyOptions {
  log?: CallLog;
  replay?: Replay<WireExchange>;
  counted?: Budget;
  missed: UnrecordedCounter;
  agents: { "http:": Agent; "https:": Agent };
}

/** Starts the proxy; resolves when it listens. */
export async function startProxy(options: ProxyOptions): Promise<RecordingProxy> {
  checkOptions("startProxy", options);
  if (options.mode !== "replay" && !options.to && !options.guests)
    throw new UsageError("a proxy needs `to`, the server to pass calls to");
  if (options.to && !/^https?:$/.test(URL.parse(options.to)?.protocol ?? "")) {
    throw new UsageError(`the server's address must begin with http:// or https://, not "${options.to}"`);
  }
  const replay =
    options.mode === "replay"
      ? replayOf(await usable(options.folder), ({ path, request }) => ({ kind: kindOf(path), request }))
      : undefined;
  const log = replay ? undefined : await openCallLog(options.folder);
  const counted = options.budget && createBudget(options.budget);
  // Loaded here: importing the package should not pay for a web server.
  const [http, https] = await Promise.all([import("node:http"), import("node:https")]);
  const many = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: 1024 };
  const agents = { "http:": new http.Agent(many), "https:": new https.Agent(many) };
  const setup: Setup = { ...options, agents, missed: unrecordedCounter(), log, replay, counted };
  const { port, host, onProblem } = options;
  const served = guarded((call) => handle(setup, call), {
    access: accessOf(host, options.access),
    keys: options.keys,
    keyOf: (header) => header("x-coa-key"), // the other headers for keys belong to the model server
    keyText: "send a key of this proxy in the header x-coa-key",
    maxBodyBytes: options.maxRequestBytes ?? 64 * 2 ** 20,
    errorBody: ({ message, code }) => ({ error: { type: code ?? "coa_proxy", message } }),
    ...(onProblem && { onRequest: faults(onProblem) }),
  });
  const { origin, close } = await listen(served, { port, host });
  return {
    url: `${origin}/v1`,
    origin,
    urlOf: (runId) => `${origin}/r/${encodeURIComponent(runId)}/v1`,
    ...(counted && { budget: counted }),
    unrecorded: () => setup.missed.list("proxy"),
    async close() {
      await close();
      await writeUnrecorded(options.folder, setup.missed.list("proxy"));
      for (const agent of Object.values(agents)) agent.destroy();
      await log?.close();
    },
  };
}

async function handle(setup: Setup, call: Call): Promise<void> {
  const { request } = call;
  const startedAt = steadyNow();
  const guest = setup.guests === undefined ? undefined : guestRequest(setup.guests, request.url, request.headers);
  const { runId, path } = guest
    ? { runId: guest.known.runId, path: guest.path }
    : runOfRequest(request.url, request.headers);
  const to = guest?.to ?? setup.to;
  const body = await call.raw();
  if (guest?.path === givenPath) {
    const now = { endedAt: startedAt, status: 200, outcome: "complete", contentType: "", response: "" } as const;
    const told = redactSecrets(await call.json(), headerSecrets(Object.entries(request.headers)), setup.redact);
    await setup.log?.append({
      version: 1,
      id: randomUUID(),
      recorder: "preload",
      ...guest.known,
      path,
      startedAt,
      ...now,
      request: told,
    });
    return call.reply.send(204, "", {});
  }
  const fetched = fetchedId(request.method, path) !== undefined;
  const recorded = fetched || (request.method === "POST" && isRecorded(path));
  if (!recorded) return passThrough(setup, call, to, path, body);
  const json = fetched ? {} : await call.json();
  const api = apiOf(path, json);
  if (!api && apiOf(path)) return passThrough(setup, call, to, path, body); // only the path looks like a call
  const secrets = headerSecrets(Object.entries(request.headers));
  const clean = (value: unknown) => redactSecrets(value, secrets, setup.redact);
  let cleaned: unknown;
  const asked = () => (cleaned ??= clean(json));
  const cleanPath = String(redactSecrets(path, secrets)); // some servers take their key in the address
  if (setup.replay) return answerFrom(setup, setup.replay, call, cleanPath, asked());
  const record = async (end: Omit<Forwarded, "body"> & { response: string }): Promise<void> => {
    try {
      const exchange: WireExchange = {
        version: 1,
        id: randomUUID(),
        recorder: guest ? "preload" : "proxy",
        ...(runId !== undefined && { runId }),
        ...guest?.known,
        path: cleanPath,
        startedAt,
        endedAt: steadyNow(),
        status: end.status,
        outcome: end.outcome,
        ...(end.error !== undefined && { error: String(redactSecrets(end.error, secrets)) }),
        request: asked(),
        contentType: end.contentType,
        response: redactResponse(api, end.response, end.contentType, secrets, setup.redact),
        ...(end.truncated && { truncated: true }),
      };
      await setup.log!.append(exchange);
      setup.onExchange?.(exchange);
    } catch (error) {
      // A full disk or a broken hook must not break the app.
      setup.onProblem?.(`a call could not be recorded: ${messageOf(error)}`);
    }
  };
  const bytes = (await call.bytes()).length;
  const wanted = { runId, api, path, body: json, bytes, signal: request.signal };
  const reservation = fetched ? undefined : await setup.counted?.admit(wanted);
  if (reservation && "refused" in reservation) {
    const error = budgetRefusal + reservation.refused;
    setup.onProblem?.(error);
    const refused = {
      status: 402,
      outcome: "upstream-error",
      contentType: "application/json",
      truncated: false,
    } as const;
    await record({ ...refused, error, response: "" });
    throw new Refusal(402, error, { code: "coa_budget" });
  }
  const capped = reservation !== undefined && reservation.body !== json;
  const headers = { ...request.headers };
  if (capped) delete headers["content-encoding"];
  // Secrets are taken out while the server thinks, not before it is asked.
  setImmediate(() => {
    try {
      asked();
    } catch {} // a broken hook is reported with the record
  });
  const url = guest ? new URL(guest.to + path) : upstreamUrl(to!, path);
  await forward(call, {
    url,
    headers,
    api,
    body: capped ? Buffer.from(JSON.stringify(reservation.body)) : body,
    agent: setup.agents[url.protocol as "http:" | "https:"],
    maxKeptBytes: setup.maxKeptBytes ?? 64 * 2 ** 20,
    async onEnd({ body: kept, contentEncoding, ...end }) {
      const text = await unpack(kept, contentEncoding, 256 * 2 ** 20).catch(() => kept);
      const answer = text.toString("utf8");
      reservation?.settle(broughtBy(api, answer, end));
      if (fetched && !isFinal(answer, end.contentType)) return; // the client asks again
      await record({ ...end, response: answer });
    },
  });
}

/** Exchanges that ended well or with an answer from the server can be given again. */
async function usable(folder: string): Promise<WireExchange[]> {
  const all = await Array.fromAsync(readCallLogs(folder));
  return all.filter(
    ({ outcome, truncated, status }) =>
      !truncated && status !== 0 && (outcome === "complete" || outcome === "upstream-error"),
  );
}

/** What kind of call a path is, whatever comes before it. */
function kindOf(path: string): string {
  return path.split("?")[0]!.replace(/^.*\/(?:v1|v1beta|v1alpha|api)\//, "");
}

function answerFrom(setup: Setup, replay: Replay<WireExchange>, { reply }: Call, path: string, request: unknown): void {
  const found = replay.find(kindOf(path), request);
  if (!found) {
    const message = replay.explainMiss(kindOf(path), request);
    setup.onProblem?.(`replay: ${message}`);
    throw new Refusal(404, message, { code: "coa_replay_miss" });
  }
  reply.send(found.status, found.response, { "content-type": found.contentType, "x-coa-replay": found.id });
}

async function passThrough(
  setup: Setup,
  call: Call,
  to: string | undefined,
  path: string,
  body: Buffer,
): Promise<void> {
  const { method, headers } = call.request;
  if (setup.replay) throw new Refusal(404, `${method} ${path} is not a model call and can't be replayed`);
  if (to === undefined) throw new Refusal(404, `${method} ${path}: no server is named`);
  setup.missed.add(`${method} ${path.split("?")[0]}`);
  const url = upstreamUrl(to, path);
  await forward(call, {
    url,
    headers,
    body,
    agent: setup.agents[url.protocol as "http:" | "https:"],
    maxKeptBytes: 0,
    onEnd: async () => {},
  });
}
