/** A proxy in front of a server that knows what each request is for, and strikes when a chosen one is at a chosen place on its way. */
import { listen } from "../../src/base/http/listen.ts";
import { forwardTo } from "./unreliable-proxy.ts";

/** Where a request is: it has not reached the server, the server has just got it, or it has answered and the client has not heard. */
export const places = ["on its way", "arrived", "answered"] as const;

/** The n-th request of a kind since the strike was armed, at a place; in any case before this many optimizer steps. */
export interface Moment {
  kind: string;
  nth: number;
  place: (typeof places)[number];
  latest: number;
}

/** Starts it. `target` is where the server is now; requests fail while there is none. */
export async function killingProxy() {
  const kinds = new Map<string, string>(); // of what was submitted, by the number of its future
  const armed: { moment: Moment; seen: number; steps: number; strike(): void }[] = [];
  const proxy = { origin: "", target: "", struck: [] as string[], arm, close: async () => {} };

  /** Kills at the moment; resolves once it has come. */
  function arm(moment: Moment, strike: () => void): Promise<void> {
    return new Promise((resolve) => {
      armed.push({
        moment,
        seen: 0,
        steps: 0,
        strike() {
          strike();
          resolve();
        },
      });
    });
  }

  const server = await listen(async (request, reply) => {
    const body = await request.read(2 ** 30);
    const path = request.url.split("/").at(-1)!;
    const isQuestion = path === "retrieve_future";
    const kind = isQuestion ? `result of ${kinds.get(String(JSON.parse(body.toString()).request_id))}` : path;
    const next = armed[0];
    if (next && kind === "optim_step") next.steps++;
    const late = next && kind === "optim_step" && next.steps === next.moment.latest;
    const chosen = next && kind === next.moment.kind && ++next.seen === next.moment.nth;
    const strikes = (place: Moment["place"]) => {
      if (!next || armed[0] !== next || !(late || (chosen && next.moment.place === place))) return false;
      armed.shift();
      proxy.struck.push(`${kind} ${place}`);
      next.strike();
      reply.cut();
      return true;
    };
    if (strikes("on its way")) return;
    const answer = await forwardTo(proxy.target, request, body, () => strikes("arrived")).catch(() => null);
    if (!answer || strikes("answered")) return reply.cut();
    if (!isQuestion && answer.status === 200 && answer.body[0] === 0x7b) {
      const { request_id } = JSON.parse(answer.body.toString()) as { request_id?: unknown };
      if (request_id !== undefined) kinds.set(String(request_id), kind);
    }
    reply.send(answer.status, answer.body, answer.headers);
  });
  proxy.origin = server.origin;
  proxy.close = server.close;
  return proxy;
}
