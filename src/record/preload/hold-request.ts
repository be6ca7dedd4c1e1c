/**
 * Delays a request of `node:http` until the budget allows it. What the client writes is kept and sent once it is
 * admitted, with the body that the budget allows; a refusal is an answer of status 402, which clients don't try again.
 */
import { type ClientRequest, IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { OpenExchange } from "./exchange-recorder.ts";

/** Sends `body` by `send` when it may be sent, or answers for the server. */
export async function holdRequest(
  request: ClientRequest,
  exchange: OpenExchange,
  send: (body: string | undefined) => void,
): Promise<void> {
  const left = new AbortController();
  request.once("close", () => left.abort());
  const admitted = await exchange.admit?.(left.signal);
  if (left.signal.aborted) return;
  if (!admitted || !("refused" in admitted)) return send(admitted?.body);
  const answer = new IncomingMessage(new Socket());
  Object.assign(answer, { statusCode: 402, statusMessage: "Payment Required", complete: true });
  answer.headers = { "content-type": "application/json" };
  answer.rawHeaders = ["content-type", "application/json"];
  request.on("error", () => {}); // the connection that is not needed any more
  const { emit } = request;
  // The app only sees the refusal: nothing went wrong with the connection.
  request.emit = ((event: string, ...args: unknown[]) =>
    event === "error" ? true : emit.call(request, event, ...args)) as typeof request.emit;
  const heard = request.emit("response", answer);
  answer.push(admitted.refused);
  answer.push(null);
  if (!heard) answer.resume();
  request.destroy();
}
