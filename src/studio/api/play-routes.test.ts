import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { guarded } from "../../base/http/guard.ts";
import { type Listening, listen } from "../../base/http/listen.ts";
import { eventText } from "../../base/http/server-events.ts";
import { emptyUsage } from "../../core/usage.ts";
import { type Player, playRoutes } from "./play-routes.ts";
import type { StudioContext } from "./reader.ts";

const trajectory = {
  version: 1,
  id: "played",
  taskId: "t",
  profile: "web",
  model: "m",
  prompt: [{ role: "user", content: "Who?" }],
  segments: [{ tag: "answer", text: "Bo", by: "model" }],
  answer: "Bo",
  ending: { reason: "answered" },
  usage: emptyUsage(),
  violations: [],
};

describe("the playground's routes", () => {
  let home: string;
  let server: Listening;
  const left = Promise.withResolvers<void>();
  /** Says one thing and then nothing, until it is told to stop; or a whole chain. */
  const player: Player = {
    name: "slow",
    about: async () => ({ model: "slow", tools: [], questions: [] }),
    async ask(body, signal) {
      if (body["question"] === "") return Response.json({ error: { message: "give a question" } }, { status: 400 });
      signal.addEventListener("abort", () => left.resolve());
      const ends = body["question"] === "end";
      const stream = new ReadableStream<Uint8Array>({
        start(controller) {
          const send = (event: object) =>
            controller.enqueue(new TextEncoder().encode(eventText(JSON.stringify(event))));
          send({ type: "role-start", role: "think" });
          if (!ends) return;
          send({ type: "end", trajectory });
          controller.close();
        },
      });
      return new Response(stream);
    },
  };
  before(async () => {
    home = await mkdtemp(join(tmpdir(), "coa-play-"));
    const routes = playRoutes({ home } as StudioContext, [player]);
    server = await listen(guarded(routes, { errorBody: ({ message }) => message }));
  });
  after(async () => {
    await server.close();
    await rm(home, { recursive: true });
  });

  const play = (question: string, signal?: AbortSignal) =>
    fetch(`${server.origin}/api/play`, { method: "POST", body: JSON.stringify({ player: "slow", question }), signal });

  it("tell the player to stop when the browser leaves", async () => {
    const gone = new AbortController();
    const response = await play("wait", gone.signal);
    const { value } = await response.body!.getReader().read();
    assert.match(Buffer.from(value!).toString(), /role-start/);
    gone.abort();
    await left.promise;
  });

  it("keep a chain that has ended, and give it back", async () => {
    assert.match(await (await play("end")).text(), /"type":"end"/);
    assert.match(await readFile(join(home, "playground", "chains.jsonl"), "utf8"), /"id":"played"/);
    const again = (await (await fetch(`${server.origin}/api/played?id=played`)).json()) as { answer: string };
    assert.equal(again.answer, "Bo");
  });

  it("say what the player refused, and who does not play here", async () => {
    const refused = await play("");
    assert.deepEqual([refused.status, await refused.text()], [400, JSON.stringify("give a question")]);
    assert.equal((await fetch(`${server.origin}/api/player?name=nobody`)).status, 404);
  });
});
