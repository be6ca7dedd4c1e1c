/**
 * The studio's server side: static files of the app, and its questions answered as JSON. It reads files and may run tools
 * for whoever asks, so it answers only this machine's own names (no foreign page, no rebound name) and only who brings the
 * token of this start; the page itself may load nothing but its own files.
 */
import { createHash } from "node:crypto";
import { checkOrigin, keyFinder, keyOf } from "../../base/http/access.ts";
import { type Handler, type HttpRequest, type Reply, replyJson } from "../../base/http/handler.ts";
import { RefusedRequest } from "../../base/http/request-body.ts";
import { routes } from "../../base/http/routes.ts";
import { eventText, keepAliveText } from "../../base/http/server-events.ts";
import { CoaError, messageOf } from "../../core/errors.ts";
import type { AppFiles } from "./app-files.ts";
import type { StudioContext } from "./reader.ts";
import { readers } from "./readers.ts";

/** What the page may load: its own files, and nothing else from anywhere. */
const contentPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const safety = {
  "content-security-policy": contentPolicy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

const keepAliveMs = 15_000;

/** Answers requests. `more` are routes of other parts (a playground), behind the same checks. */
export function studioHandler(
  context: StudioContext,
  options: { token: string; app: AppFiles; more?: Readonly<Record<string, Handler>> },
): Handler {
  const knownKey = keyFinder([{ key: options.token }]);
  const table: Record<string, Handler> = { ...options.more, "GET /api/events": eventsHandler(context) };
  for (const [name, reader] of Object.entries(readers)) {
    table[`GET /api/${name}`] = async (request, reply) =>
      replyTagged(request, reply, await reader(request.query, context));
  }
  const api = routes(table);
  return async (request, reply) => {
    try {
      checkOrigin(request.header);
      if (!request.path.startsWith("/api/")) return sendFile(options.app, request, reply);
      if (!knownKey(keyOf(request.header) ?? "")) {
        throw new RefusedRequest(401, "this page has no key: open the address that coa studio printed");
      }
      await api(request, reply);
    } catch (error) {
      if (request.signal.aborted) return;
      const status = (error as { status?: number }).status ?? (error instanceof CoaError ? 422 : 500);
      replyJson(reply, status, { error: { message: messageOf(error) } }, safety);
    }
  };
}

function sendFile(app: AppFiles, request: HttpRequest, reply: Reply): void {
  if (request.method !== "GET") throw new RefusedRequest(405, `${request.method} is not served here`);
  const file = app.get(request.path === "/" ? "/index.html" : request.path);
  if (!file) throw new RefusedRequest(404, `nothing is served at ${request.path}`);
  reply.send(200, file.bytes, { ...safety, "content-type": file.type });
}

/** JSON with a tag of its content: an answer that did not change is not sent again. */
function replyTagged(request: HttpRequest, reply: Reply, value: unknown): void {
  const body = JSON.stringify(value);
  const etag = `"${createHash("sha1").update(body).digest("base64url")}"`;
  if (request.header("if-none-match") === etag) reply.send(304, "", { ...safety, etag });
  else reply.send(200, body, { ...safety, etag, "content-type": "application/json; charset=utf-8" });
}

/** One stream for the whole app: what changed since the cursor, then what changes. Data themselves are asked for. */
function eventsHandler({ index, root }: StudioContext): Handler {
  return async (request, reply) => {
    const stream = reply.stream(200, { ...safety, "content-type": "text/event-stream" });
    const shown = (path: string) => (path.startsWith(root) ? path.slice(root.length + 1) : path);
    const send = (event: object) => {
      const path = "path" in event ? { path: shown(String(event.path)) } : {};
      return stream.write(eventText(JSON.stringify({ ...event, ...path })));
    };
    for (const event of index.eventsAfter(Number(request.query.get("cursor") ?? 0) || 0)) await send(event);
    const stop = index.onEvent((event) => void send(event));
    const beat = setInterval(() => void stream.write(keepAliveText), keepAliveMs);
    await new Promise<void>((resolve) => {
      if (request.signal.aborted) resolve();
      else request.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    clearInterval(beat);
    stop();
    stream.end();
  };
}
