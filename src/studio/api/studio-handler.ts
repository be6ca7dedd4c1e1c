/**
 * The studio's server side: static files of the app, and its questions answered as JSON. It reads files and may run tools
 * for its callers, so it answers only this machine's own names (no foreign page, no rebound name) and only who brings the
 * token of this start; the page itself may load nothing but its own files.
 */
import { once } from "node:events";
import { streamReply } from "../../base/http/event-stream.ts";
import { type Guarded, type GuardSettings, guarded, type Route } from "../../base/http/guard.ts";
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

/** Answers requests. `more` are routes of other parts (a playground), behind the same checks. */
export function studioHandler(
  context: StudioContext,
  options: { token: string; app: AppFiles; more?: Readonly<Record<string, Route>> } & Pick<GuardSettings, "onRequest">,
): Guarded {
  const table: Record<string, Route> = { ...options.more, "GET /api/events": eventsRoute(context) };
  for (const [name, reader] of Object.entries(readers))
    table[`GET /api/${name}`] = ({ request }) => reader(request.query, context);
  for (const [path, { bytes, type }] of options.app)
    for (const at of path === "/index.html" ? ["/", path] : [path])
      table[`GET ${at}`] = ({ reply }) => reply.send(200, bytes, { "content-type": type });
  return guarded(table, {
    keys: [options.token],
    keyText: "this page has no key: open the address that coa studio printed",
    onRequest: options.onRequest,
    isOpen: (path) => !path.startsWith("/api/"),
    errorBody: ({ message }) => ({ error: { message } }),
    headers: safety,
  });
}

/** One stream for the whole app: what changes. Data themselves are asked for. */
function eventsRoute({ catalog, root }: StudioContext): Route {
  const shown = (path: string) => (path.startsWith(root) ? path.slice(root.length + 1) : path);
  return (call) =>
    streamReply(call, {}, async (stream) => {
      const { signal } = call.request;
      stream.open();
      const send = (event: object) =>
        stream.write(JSON.stringify({ ...event, ...("path" in event && { path: shown(String(event.path)) }) }));
      const stop = catalog.onEvent((event) => void send(event));
      // A page that was away asks for everything again; one that came early hears when all is read.
      if (catalog.isReady) await send({ type: "idle" });
      if (!signal.aborted) await once(signal, "abort");
      stop();
    });
}
