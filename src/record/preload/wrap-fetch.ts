/** Wraps `fetch` so that every model call made with it is recorded; answers are passed on piece by piece. */
import { headerSecrets } from "../../base/redact/redact.ts";
import { type OpenExchange, openExchange, type RecorderOptions, recordedPath } from "./exchange-recorder.ts";
import { enterCause } from "./follow-causes.ts";

export interface WrapOptions extends RecorderOptions {
  fetch: typeof fetch;
}

/** A `fetch` that records calls to model servers and leaves everything else alone. */
export function wrapFetch(options: WrapOptions): typeof fetch {
  const original = options.fetch;
  const sendBody = (input: string | URL | Request, init: RequestInit | undefined, body: string) => {
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : {}));
    headers.delete("content-length");
    return original(input, { ...init, headers, body });
  };
  return async function fetchAndRecord(input, init) {
    const url = input instanceof Request ? input.url : String(input);
    const method = (init?.method ?? (input instanceof Request ? input.method : "GET")).toUpperCase();
    if (method !== "POST" && recordedPath(url, method) === undefined) return original(input, init);
    const body = method === "POST" ? await bodyText(input, init) : "";
    if (body === undefined && recordedPath(url)) options.onUnrecorded?.(`POST ${url.split("?")[0]} (body is a stream)`);
    const secrets = headerSecrets(new Headers(init?.headers ?? (input instanceof Request ? input.headers : {})));
    const exchange = body === undefined ? undefined : openExchange(options, url, body, secrets, method);
    if (!exchange) return original(input, init);
    let response: Response;
    try {
      const admitted = await exchange.admit?.(init?.signal ?? (input instanceof Request ? input.signal : undefined));
      if (admitted && "refused" in admitted) {
        return new Response(admitted.refused, { status: 402, headers: { "content-type": "application/json" } });
      }
      response = await (admitted?.body === undefined ? original(input, init) : sendBody(input, init, admitted.body));
    } catch (error) {
      if (exchange.cause) enterCause(exchange.cause);
      exchange.end((error as Error).name === "AbortError" ? "client-disconnect" : "upstream-error", String(error));
      throw error;
    }
    if (exchange.cause) enterCause(exchange.cause);
    exchange.head(response.status, response.headers.get("content-type") ?? "");
    if (response.status < 400) return passOn(response, exchange);
    // A refusal is short, and clients often don't read it before they try again.
    const bytes = new Uint8Array(await response.arrayBuffer());
    exchange.keep(bytes);
    exchange.end("upstream-error");
    return sameResponse(response, bytes);
  };
}

function passOn(response: Response, exchange: OpenExchange): Response {
  if (!response.body) {
    exchange.end("complete");
    return response;
  }
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (exchange.cause) enterCause(exchange.cause); // what waits for this piece comes after the reply
        if (done) {
          exchange.end("complete");
          controller.close();
          return;
        }
        exchange.keep(value);
        controller.enqueue(value);
      } catch (error) {
        const left = (error as Error).name === "AbortError";
        exchange.end(left ? "client-disconnect" : "upstream-cut", String(error));
        controller.error(error);
      }
    },
    async cancel(reason) {
      exchange.end("client-disconnect", "the client went away");
      await reader.cancel(reason);
    },
  });
  return sameResponse(response, body);
}

/** The response with another body; a made one has no address of its own. */
function sameResponse(response: Response, body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>): Response {
  const { status, statusText, headers, url } = response;
  return Object.defineProperty(new Response(body, { status, statusText, headers }), "url", { value: url });
}

async function bodyText(input: string | URL | Request, init: RequestInit | undefined): Promise<string | undefined> {
  const body = init?.body;
  if (typeof body === "string") return body;
  if (body instanceof Uint8Array) return Buffer.from(body).toString("utf8");
  if (body instanceof ArrayBuffer) return Buffer.from(body).toString("utf8");
  if (body === undefined && input instanceof Request) return input.clone().text();
  return undefined; // streams and forms are passed on unrecorded
}
