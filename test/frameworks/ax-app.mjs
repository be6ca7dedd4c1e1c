// Ax: programs with functions, the workers as functions of the manager.
import { ai, ax } from "@ax-llm/ax";
import { main, question } from "./sdk-team.mjs";

const llm = (stream) =>
  ai({
    name: "openai",
    apiKey: process.env.OPENAI_API_KEY,
    apiURL: process.env.OPENAI_BASE_URL,
    config: { model: "m", stream },
  });

await main(async (stream) => {
  const model = llm(stream);
  const simple = (name, key, run) => ({
    name,
    description: `Does the work of ${name}.`,
    parameters: {
      type: "object",
      properties: { [key]: { type: "string", description: "What to do." } },
      required: [key],
    },
    func: (input) => run(input[key]),
  });
  const say = async (role, text, functions) => {
    const program = ax(`"You are the ${role}." task:string -> answer:string`, { functions });
    return (await program.forward(model, { task: text }, { stream })).answer;
  };
  const search = [simple("web_search", "query", (query) => `Result for ${query}: launched in 1990. example.org`)];
  const code = [simple("run_code", "code", () => "5953")];
  return say("manager", question, [
    simple("search_agent", "task", (task) => say("search", task, search)),
    simple("code_agent", "task", (task) => say("code", task, code)),
  ]);
});
