// A server of four teams, and the same teams as jobs one after another. What is said is the same for every user: only the
// flow of the program tells their calls apart. Each answer names the replies that it was made of.
import { createServer } from "node:http";

async function ask(used, system, messages, tools = []) {
  const response = await fetch(`${process.env.MODEL}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", messages: [{ role: "system", content: system }, ...messages], tools }),
  });
  const { id, choices } = await response.json();
  used.push(id);
  return choices[0].message;
}
const user = (content) => ({ role: "user", content });
const tool = (name) => [{ type: "function", function: { name, parameters: { type: "object" } } }];

async function agent(used, system, task, name, work) {
  const messages = [user(task)];
  for (;;) {
    const message = await ask(used, system, messages, tool(name));
    messages.push(message);
    if (!message.tool_calls) return message.content;
    for (const { id } of message.tool_calls) messages.push({ role: "tool", tool_call_id: id, content: await work() });
  }
}

const question = (who) => `How many days of leave carry over into the next year?${who ? ` I am ${who}.` : ""}`;
const teams = [
  async (used, who) =>
    agent(used, "You are the manager.", question(who), "worker", () =>
      agent(
        used,
        "You are the worker.",
        `Look up the days of leave${who ? ` of ${who}` : ""}.`,
        "search",
        async () => `Page: five days${who ? ` for ${who}` : ""}.`,
      ),
    ),
  async (used, who) => {
    const { content: kind } = await ask(used, "You are the router. Name the department.", [user(question(who))]);
    return (await ask(used, `You are the ${kind} specialist.`, [user(question(who))])).content;
  },
  async (used, who) => {
    const views = await Promise.all(
      ["lawyer", "accountant"].map((role) => ask(used, `You are the ${role}.`, [user(question(who))])),
    );
    const said = views.map(({ content }) => content).join("\n");
    return (await ask(used, "You are the editor. Put the views together.", [user(`${question(who)}\n\n${said}`)]))
      .content;
  },
  async (used, who) => (await ask(used, "You are the assistant.", [user(question(who))])).content,
];

const named = process.env.NAMED === "1";
const serve = async (number) => {
  const used = [];
  const answer = await teams[number % 4](used, named ? `user ${number}` : "");
  return JSON.stringify({ number, used, answer });
};

if (process.argv[2] === "jobs") {
  const [first, last, step] = process.argv.slice(3).map(Number);
  for (let number = first; number < last; number += step) console.log(await serve(number));
} else {
  const server = createServer(async (request, response) => response.end(await serve(Number(request.url.slice(1)))));
  server.keepAliveTimeout = 60_000;
  server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => console.log(server.address().port));
  process.on("SIGTERM", () => process.exit(0));
}
