/** A chain behind the API that apps already use: served on a port, called over HTTP, whole and streamed, with a key. */
import assert from "node:assert/strict";
import { mhqaProfile } from "chain-of-agents";
import { openaiCompatible } from "chain-of-agents/models";
import { chainHandler, serve } from "chain-of-agents/serve";
import { scriptedModel, tableTool } from "chain-of-agents/testing";

const scripted = !process.env["OPENAI_BASE_URL"];
const model = scripted
  ? scriptedModel(({ text }) =>
      text.includes("Phobos")
        ? "<think>Two names.</think><answer>Phobos and Deimos</answer>"
        : "<think>I have to look this up.</think><wiki_search>moons of Mars</wiki_search>",
    )
  : openaiCompatible();
const tools = [tableTool({ "moons of Mars": "Mars has two moons, Phobos and Deimos." }, "wiki_search")];

const keys = [{ key: "sk-of-this-example" }];
const served = await chainHandler({ model, profile: mhqaProfile, toolsOf: () => tools, keys });
const server = await serve(served, { port: 0 });
console.log(`ready ${server.origin}`);

const headers = { authorization: "Bearer sk-of-this-example", "content-type": "application/json" };
const question = { messages: [{ role: "user", content: "Which moons does Mars have?" }] };
const ask = (path: string, body: object) =>
  fetch(server.origin + path, { method: "POST", headers, body: JSON.stringify(body) });

interface Reply {
  choices: { message: { content: string; reasoning: string } }[];
}
const whole = (await (await ask("/v1/chat/completions", question)).json()) as Reply;
console.log(whole.choices[0]?.message.reasoning);
console.log(whole.choices[0]?.message.content);

const streamed = await (await ask("/v1/chat/completions", { ...question, stream: true })).text();
const refused = await fetch(`${server.origin}/v1/models`);
await server.stop(1000);

if (scripted) {
  assert.equal(whole.choices[0]?.message.content, "Phobos and Deimos");
  assert.match(
    whole.choices[0]?.message.reasoning ?? "",
    /^think: I have to look this up\.\nwiki_search: moons of Mars/,
  );
  assert.match(streamed, /data: \[DONE\]\n\n$/);
}
assert.equal(refused.status, 401);
