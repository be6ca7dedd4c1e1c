/** Agents that a program wires together with nothing but `fetch`. MODE says how; tasks and loads as in ../python-frameworks. */
import { createServer } from "node:http";

const { OPENAI_BASE_URL: base, MODE: mode = "chain", LOAD: load = "one" } = process.env;
const cities = ["Oslo", "Lima", "Accra", "Hanoi"];

async function ask(key, system, user) {
  const messages = [{ role: "system", content: system }, ...[user].flat()].map((one) =>
    typeof one === "string" ? { role: "user", content: one } : one,
  );
  const response = await fetch(`${base}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: "scripted", messages }),
  });
  return (await response.json()).choices[0].message.content;
}

async function improved(say, question) {
  let draft = await say("You are the writer. A critic will read it.", question);
  for (;;) {
    const view = await say(
      "You are the critic. Say APPROVE or what to improve.",
      `Question: ${question}\nAnswer: ${draft}`,
    );
    if (view.startsWith("APPROVE")) return draft;
    draft = await say(
      "You are the writer. A critic will read it.",
      `${question}\nYour draft: ${draft}\nFeedback: ${view}`,
    );
  }
}

const patterns = {
  async chain(say, question) {
    const facts = await say("You are the researcher. List the facts that the question needs.", question);
    const result = await say(
      "You are the analyst. Compute the result from the facts.",
      `Question: ${question}\nFacts: ${facts}`,
    );
    return say("You are the writer. Write the final answer in one sentence.", `Write it up:\n${result}`);
  },
  async route(say, question) {
    const kind = await say("You are the router. Say geography, history or other.", question);
    return say(kind.startsWith("geography") ? "You are the geographer." : "You are the generalist.", question);
  },
  async parallel(say, question) {
    const sides = ["facts", "method", "risk"].map((side) => `You are the ${side} reviewer.`);
    const views = await Promise.all(sides.map((system) => say(system, question)));
    return say("You are the aggregator. Put the views together.", `Question: ${question}\n\n${views.join("\n\n")}`);
  },
  async orchestrator(say, question) {
    const plan = await say("You are the planner. Write one sub-task for each line.", question);
    const steps = plan.split("\n").flatMap((line) => (line.startsWith("- ") ? line.slice(2) : []));
    const parts = await Promise.all(steps.map((step) => say("You are a worker. Do the sub-task.", step)));
    return say("You are the synthesizer. Answer from the results.", `Question: ${question}\n${parts.join("\n")}`);
  },
  evaluator: improved,
  /** Two steps in each branch. */
  async branches(say, question) {
    const views = await Promise.all(
      ["facts", "method"].map(async (side) => {
        const view = await say(`You are the ${side} reviewer.`, question);
        return say("You are the analyst. Compute the result from the facts.", `Question: ${question}\nFacts: ${view}`);
      }),
    );
    return say("You are the aggregator. Put the views together.", `Question: ${question}\n\n${views.join("\n\n")}`);
  },
  /** A loop of writer and critic in each branch. */
  async loops(say, question) {
    const drafts = await Promise.all([1, 2].map((number) => improved(say, `${question} Way ${number}.`)));
    return say("You are the synthesizer. Answer from the results.", `Question: ${question}\n${drafts.join("\n")}`);
  },
  /** Two rounds in which each reads what the others said. */
  async debate(say, question) {
    const sides = ["facts", "risk"];
    const first = await Promise.all(sides.map((side) => say(`You are the ${side} reviewer.`, question)));
    const second = await Promise.all(
      sides.map((side, at) => say(`You are the ${side} reviewer.`, `${question}\nAnother said: ${first[1 - at]}`)),
    );
    return say("You are the aggregator. Put the views together.", `Question: ${question}\n\n${second.join("\n\n")}`);
  },
  /** The same is asked again until the reply has a form. */
  async retry(say, question) {
    let facts = "";
    for (let tries = 0; tries < 3; tries++)
      facts = await say("You are the researcher. List the facts that the question needs.", question);
    return say("You are the writer. Write the final answer in one sentence.", `Question: ${question}\nFacts: ${facts}`);
  },
};

async function solve(question, key) {
  return patterns[mode.replace("server-", "")]((system, user) => ask(key, system, user), question);
}

/** The same behind a server of its own, which users ask. */
async function served(tasks) {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { question, key } = JSON.parse(body);
    response.end(await solve(question, key));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  const said = await Promise.all(
    tasks.map(async ({ question, key }) => {
      const response = await fetch(`http://127.0.0.1:${port}/`, {
        method: "POST",
        body: JSON.stringify({ question, key }),
      });
      return response.text();
    }),
  );
  server.closeAllConnections();
  server.close();
  return said;
}

const tasks = Array.from({ length: { one: 1, four: 4, three: 3 }[load] }, (_, at) => {
  const index = load === "four" ? 0 : at;
  return {
    question: `T${index}: What is the population of ${cities[index]} times ${index + 2}?`,
    key: `sk-task-${at}`,
    right: (100000 + 1111 * index) * (index + 2),
  };
});
let said = [];
if (mode.startsWith("server-")) said = await served(tasks);
else if (load === "four") said = await Promise.all(tasks.map(({ question, key }) => solve(question, key)));
else for (const { question, key } of tasks) said.push(await solve(question, key));
if (!tasks.every(({ right }, at) => said[at].includes(right))) throw new Error(said.join("\n"));
