/**
 * Clients of every kind: whole answers, streams, streams given up, conversations that are stored, responses in the background
 * that are asked for later, cancelled and deleted ones, repeated requests, and requests that are refused. Each remembers what it was told.
 */
import { eventsOf } from "../../src/base/http/server-events.ts";
import type { SeededRandom } from "../../src/base/work/random.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of a foreign API
type Loose = any;

/** What all clients were told, and what went wrong. */
export interface Told {
  requests: number;
  answered: number;
  /** Refused as they must be: an error of the model's server, a bad request, a full queue. */
  refused: number;
  /** Given up by the client. */
  left: number;
  /** Cut by a kill. */
  cut: number;
  hung: string[];
  lost: string[];
  /** Stored responses: the text of those that were complete, undefined where it was not told yet, null where deleted. */
  stored: Map<string, string | undefined | null>;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** No request of the soak takes so long: its longest wait is the upstream's silence of five seconds, for at most eight calls. */
const deadlineMs = 90_000;
const textOf = (response: Loose): string => response?.output?.at(-1)?.content?.[0]?.text ?? "";
const running = (response: Loose) => response.status === "queued" || response.status === "in_progress";

/** One client; `once` sends one request or one short conversation. */
export function soakClient(origins: readonly string[], random: SeededRandom, who: number, told: Told) {
  let round = 0;
  let previous: string | undefined;

  /** The answer, or undefined where the client left or the server was killed. */
  async function send(path: string, body?: unknown, options: Loose = {}): Promise<Loose> {
    const { leaveAfterMs, method, headers, at = random.below(10) < 7 ? 0 : 1 } = options;
    told.requests++;
    const deadline = AbortSignal.timeout(deadlineMs);
    const leaving = leaveAfterMs === undefined ? undefined : AbortSignal.timeout(leaveAfterMs);
    try {
      const reply = await fetch(origins[at] + path, {
        method: method ?? (body === undefined ? "GET" : "POST"),
        headers: { "content-type": "application/json", ...headers },
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
        signal: leaving ? AbortSignal.any([deadline, leaving]) : deadline,
      });
      const text = await reply.text();
      if (reply.ok) told.answered++;
      else told.refused++;
      return { status: reply.status, text, headers: reply.headers };
    } catch {
      if (leaving?.aborted) told.left++;
      else if (deadline.aborted) told.hung.push(`${path} ${JSON.stringify(body)}`);
      else if (at === 1) told.cut++;
      else told.lost.push(`the server that is never killed broke off ${path} ${JSON.stringify(body)}`);
      return undefined;
    }
  }

  /** A response that the server said it stored. */
  function remember(response: Loose): void {
    if (response?.status === "completed") {
      told.stored.set(response.id, textOf(response));
      previous = response.id;
    } else if (response && running(response)) told.stored.set(response.id, undefined);
  }

  async function look(id: string): Promise<void> {
    const expected = told.stored.get(id);
    const found = await send(`/v1/responses/${id}`, undefined, { at: 0 });
    // One that another client deleted or saw end meanwhile may be either.
    if (!found || !told.stored.has(id) || told.stored.get(id) !== expected) return;
    if (expected === null)
      return found.status === 404 ? undefined : void told.lost.push(`${id} was deleted and is there`);
    if (found.status !== 200) return void told.lost.push(`${id} is gone: ${found.text}`);
    const response = JSON.parse(found.text);
    if (running(response)) return;
    if (expected === undefined) told.stored.set(id, textOf(response));
    else if (textOf(response) !== expected) told.lost.push(`${id} was ${expected}, is ${found.text}`);
  }

  const question = () => `What is known of #task-${who}-${round}? ${"Please. ".repeat(random.below(40))}`;
  const chat = () => [{ role: "user", content: question() }];
  const kinds: (() => Promise<unknown>)[] = [
    () => send("/v1/chat/completions", { messages: chat() }),
    () => send("/v1/chat/completions", { messages: chat(), stream: true }),
    () => send("/v1/chat/completions", { messages: chat(), stream: true }, { leaveAfterMs: random.below(60) }),
    () => send("/v1/messages", { messages: chat(), max_tokens: 1000, stream: random.below(2) === 0 }),
    () => send("/v1/completions", { prompt: question(), stream: random.below(2) === 0 }),
    () => send("/api/chat", { messages: [{ role: "user", parts: [{ type: "text", text: question() }] }] }),
    () => send("/v1/chat/completions", ["{", { messages: [] }, { messages: "?" }, "[".repeat(5000)][random.below(4)]),
    async () => {
      const body = { input: question(), ...(previous && random.below(4) > 0 && { previous_response_id: previous }) };
      const reply = await send("/v1/responses", body);
      if (reply?.status === 200) remember(JSON.parse(reply.text));
    },
    async () => {
      const reply = await send("/v1/responses", { input: question(), stream: true });
      if (reply?.status !== 200) return;
      const events = eventsOf(reply.text).filter((event) => event.startsWith("{"));
      remember(JSON.parse(events.at(-1) ?? "{}").response);
    },
    () => send("/v1/responses", { input: question(), stream: true }, { leaveAfterMs: random.below(80) }),
    async () => {
      const reply = await send("/v1/responses", { input: question(), background: true });
      if (reply?.status !== 200) return;
      const { id } = JSON.parse(reply.text);
      told.stored.set(id, undefined);
      const next = random.below(4);
      if (next === 0) await send(`/v1/responses/${id}?stream=true`, undefined, { leaveAfterMs: 50 });
      if (next === 1 && random.below(3) === 0) await send(`/v1/responses/${id}/cancel`, {});
      if (next > 1) await look(id);
    },
    async () => {
      const headers = { "idempotency-key": `key-${who}-${round}` };
      const body = { input: question() };
      const first = await send("/v1/responses", body, { headers });
      const again = await send("/v1/responses", body, { headers, at: 0 });
      if (first?.status !== 200 || again?.status !== 200) return;
      const [one, two] = [JSON.parse(first.text), JSON.parse(again.text)];
      if (one.id !== two.id) told.lost.push(`${headers["idempotency-key"]} ran twice: ${one.id}, ${two.id}`);
      remember(two);
    },
    async () => {
      const ids = [...told.stored.keys()];
      const id = ids[random.below(Math.max(1, ids.length))];
      if (id === undefined) return;
      // While it is deleted, what another client reads of it may be either.
      if (previous !== undefined && random.below(3) === 0) {
        const gone = previous;
        previous = undefined;
        told.stored.delete(gone);
        const reply = await send(`/v1/responses/${gone}`, undefined, { method: "DELETE", at: 0 });
        if (reply?.status === 200) told.stored.set(gone, null);
      } else await look(id);
    },
  ];

  return {
    look,
    async once(): Promise<void> {
      round++;
      await kinds[random.below(kinds.length)]!();
      await pause(random.below(20));
    },
  };
}
