import { defineCommand } from "../command.ts";
import { openTools, toolFlags } from "../open-tools.ts";
import { table } from "../output.ts";

export default defineCommand({
  name: "tools",
  summary: "List the tools of a chain: which are ready here, by what means, and what the others need.",
  examples: ["coa tools", "coa tools --index .coa/index/wiki", "coa tools --mcp 'npx -y some-mcp-server' --json"],
  options: toolFlags,
  async run({ values, out, signal }) {
    const opened = await openTools(values, { signal });
    try {
      const described = opened.states.map((state) => ({
        ...state,
        description: opened.tools.find((tool) => tool.name === state.name)?.description,
      }));
      if (values.json) out.json(described);
      else {
        const rows = described.map(({ name, ready, detail, remedy }) => [
          ready ? out.style("green", "ready") : out.style("yellow", "--"),
          name,
          remedy ? `${detail} (${remedy})` : detail,
        ]);
        out.print(table(rows));
      }
      return 0;
    } finally {
      await opened.close();
    }
  },
});
