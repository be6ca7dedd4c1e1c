// A manager and two workers as a plain loop, for SDKs that have no agents of their own. `ask(role, history, tools)` makes one
// model call and gives back `{ text, calls: [{ id, name, input }] }`; `history` is whatever the SDK wants it to be.
export const question = "When was the telescope launched, and what is that year times 3 minus 17?";
export const tools = {
  manager: [
    { name: "search_agent", description: "Searches.", key: "task" },
    { name: "code_agent", description: "Computes.", key: "task" },
  ],
  search: [{ name: "web_search", description: "Search the web.", key: "query" }],
  code: [{ name: "run_code", description: "Run code.", key: "code" }],
};
export const schemaOf = ({ key }) => ({ type: "object", properties: { [key]: { type: "string" } }, required: [key] });

export async function runTeam(sdk) {
  const agent = async (role, task) => {
    const history = sdk.start(role, task);
    for (;;) {
      const { text, calls } = await sdk.ask(role, history, tools[role]);
      if (calls.length === 0) return text;
      const results = await Promise.all(
        calls.map(async ({ name, input }) => {
          if (name === "search_agent") return agent("search", input.task);
          if (name === "code_agent") return agent("code", input.task);
          if (name === "run_code") return "5953";
          return `Result for ${input.query}: launched in 1990. example.org`;
        }),
      );
      sdk.answer(history, calls, results);
    }
  };
  return agent("manager", question);
}

/** Runs as many tasks at once as asked for and prints the answers. */
export async function main(run) {
  const count = Number(process.argv.find((arg) => /^\d+$/.test(arg)) ?? 1);
  const stream = process.argv.includes("--stream");
  console.log(JSON.stringify(await Promise.all(Array.from({ length: count }, () => run(stream)))));
}
