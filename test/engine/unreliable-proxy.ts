/** A proxy that loses, delays, repeats and reorders requests by a seed, in front of a real server. */
import { request as send } from "node:http";
import { type HttpRequest, type ReplyHeaders, readBytes } from "../../src/base/http/handler.ts";
import { listen } from "../../src/base/http/listen.ts";
import { seededRandom } from "../../src/base/work/random.ts";

/** Starts it; `share` of the requests meet with each kind of trouble. */
export async function unreliableProxy(target: string, seed: number, share = 0.08) {
  const random = seededRandom(seed, "trouble");
  const troubles: Record<string, number> = {};
  const happens = (name: string) => {
    if (random.next() >= share) return false;
    troubles[name] = (troubles[name] ?? 0) + 1;
    return true;
  };
  const server = await listen(async (request, reply) => {
    const body = await request.read(2 ** 30);
    if (happens("lost request")) return reply.cut();
    if (happens("refused for now")) return reply.send(503, "", {});
    if (happens("delayed")) await new Promise((resolve) => setTimeout(resolve, 1 + random.below(40)));
    const repeated = !request.url.endsWith("asample") && happens("sent twice");
    const answers = [forwardTo(target, request, body)];
    if (repeated) answers.push(forwardTo(target, request, body));
    const answer = (await Promise.all(answers)).at(-1)!;
    if (happens("lost answer")) return reply.cut();
    reply.send(answer.status, answer.body, answer.headers);
  });
  return { origin: server.origin, troubles, close: server.close };
}

/** Sends a request on, with its body; `sent` is called when the last of it has left. */
export function forwardTo(target: string, { method, url, headers }: HttpRequest, body: Buffer, sent = () => {}) {
  return new Promise<{ status: number; headers: ReplyHeaders; body: Buffer }>((resolve, reject) => {
    const call = send(target + url, { method, headers: { ...headers, host: new URL(target).host } }, (answer) => {
      readBytes(answer, 2 ** 30).then(
        (bytes) => resolve({ status: answer.statusCode!, headers: answer.headers as ReplyHeaders, body: bytes }),
        reject,
      );
    });
    call.on("error", reject);
    call.end(body, sent);
  });
}
