/** The fetch face of the handlers inside Hono: the same answers, streams and refusals as on a port of their own. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { z } from "zod";
import { eventsOf } from "../../src/base/http/server-events.ts";
import { defineTool } from "../../src/core/tool.ts";
import { taskGrader } from "../../src/graders/grade-task.ts";
import { mhqaProfile } from "../../src/language/profiles.ts";
import { chainHandler, rewardHandler } from "../../src/serve/index.ts";
import { toolHandler } from "../../src/serve/tool-handler.ts";
import { scriptedModel, tableTool } from "../../src/testing/index.ts";
import { good } from "../fixtures/serve-server.ts";

const installed = existsSync(join(import.meta.dirname, "node_modules/hono"));
const skip = installed ? false : "install the frameworks first: npm install --prefix test/clients";
// biome-ignore lint/suspicious/noExplicitAny: a framework whose types are not installed with the package
type Loose = any;
const load = (name: string): Promise<Loose> => import(name);
const post = (body: unknown) => ({ method: "POST", body: JSON.stringify(body) });

describe("handlers inside Hono", { skip }, () => {
  it("answer whole and streamed, and refuse in the API's own shape", async () => {
    const { Hono } = await load("hono");
    const tools = [tableTool({ Ada: "Ada lives in Lyon." }, "wiki_search")];
    const chain = await chainHandler({ model: scriptedModel(good), profile: mhqaProfile, toolsOf: () => tools });
    const rewards = rewardHandler({ grader: taskGrader() });
    const double = defineTool({
      name: "double",
      description: "Twice.",
      input: z.object({ n: z.number() }),
      run: ({ n }) => n * 2,
    });
    const own = toolHandler({ tools: [double] });
    const app = new Hono();
    app.all("/v1/*", (context: Loose) => chain.fetch(context.req.raw));
    app.all("/reward", (context: Loose) => rewards.fetch(context.req.raw));
    app.all("/tools/*", (context: Loose) => own.fetch(context.req.raw));
    const chat = { messages: [{ role: "user", content: "Where does Ada live?" }] };
    const whole = await (await app.request("http://localhost/v1/chat/completions", post(chat))).json();
    assert.equal(whole.choices[0].message.content, "Lyon");
    const streamed = await app.request("http://localhost/v1/chat/completions", post({ ...chat, stream: true }));
    const events = eventsOf(await streamed.text());
    assert.equal(events.at(-1), "[DONE]");
    assert.ok(events.length > 10);
    const refused = await app.request("http://localhost/v1/chat/completions", post({ ...chat, model: "gpt-9" }));
    assert.equal(refused.status, 404);
    assert.equal((await refused.json()).error.code, "model_not_found");
    const task = { question: "Capital of France?", answers: ["Paris"] };
    assert.equal(
      (await (await app.request("http://localhost/reward", post({ task, text: "Paris" }))).json()).reward,
      1,
    );
    assert.equal(
      (await (await app.request("http://localhost/tools/double", post({ input: { n: 4 } }))).json()).output,
      "8",
    );
  });
});
