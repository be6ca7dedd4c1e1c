/**
 * A model server that fails as real ones do: most calls are answered in pieces, some late, some with an error, some cut in the
 * middle, some not at all until the caller leaves. What it does is drawn from a seed.
 */
import { listen } from "../../src/base/http/listen.ts";
import { eventText } from "../../src/base/http/server-events.ts";
import type { SeededRandom } from "../../src/base/work/random.ts";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const json = { "content-type": "application/json" };

/** How often each kind of call is drawn, of 100. */
const kinds = { good: 80, slow: 8, error: 3, busy: 3, cut: 3, silent: 2, nonsense: 1 } as const;
type Kind = keyof typeof kinds;

function draw(random: SeededRandom): Kind {
  let left = random.below(100);
  for (const [kind, share] of Object.entries(kinds) as [Kind, number][]) {
    if (left < share) return kind;
    left -= share;
  }
  return "good";
}

/** Starts it; `calls` counts what it did. */
export async function flakyUpstream(random: SeededRandom) {
  const calls: Record<Kind, number> = { good: 0, slow: 0, error: 0, busy: 0, cut: 0, silent: 0, nonsense: 0 };
  const server = await listen(async ({ method, read, signal }, reply) => {
    if (method === "GET") return reply.send(404, "{}", json);
    const body = String(await read(2 ** 24));
    const kind = draw(random);
    calls[kind]++;
    if (kind === "error") return reply.send(500, '{"error":{"message":"out of memory"}}', json);
    if (kind === "busy") return reply.send(429, '{"error":{"message":"busy"}}', { ...json, "retry-after-ms": "20" });
    const { messages } = JSON.parse(body) as { messages: { role: string; content: unknown }[] };
    const question = messages.findLast(({ role }) => role === "user")?.content;
    const task = /#[\w-]+/.exec(JSON.stringify(question))?.[0] ?? "#none";
    const searched = body.includes("lives in Lyon") || random.below(2) === 0;
    const text = searched
      ? `<think>it is known</think><answer>${task}</answer>`
      : "<think>look it up</think><wiki_search>Ada</wiki_search>";
    await pause(kind === "slow" ? 200 + random.below(800) : random.below(15));
    const stream = reply.stream(200, { "content-type": "text/event-stream" });
    const event = (value: object) => stream.write(eventText(JSON.stringify(value)));
    const cutAt = kind === "good" || kind === "slow" ? Infinity : random.below(text.length);
    for (let at = 0; at < text.length && at < cutAt; at += 12)
      await event({ choices: [{ index: 0, delta: { content: text.slice(at, at + 12) } }] });
    const left = new Promise((resolve) => signal.addEventListener("abort", resolve));
    if (kind === "silent") await Promise.race([pause(5000), left]);
    if (kind === "nonsense") await stream.write("data: {not json\n\n");
    if (cutAt < Infinity) return reply.cut();
    const usage = { prompt_tokens: 500, completion_tokens: 20, total_tokens: 520 };
    await event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage });
    await stream.write(eventText("[DONE]"));
    stream.end();
  });
  return { url: `${server.origin}/v1`, calls, close: server.close };
}
