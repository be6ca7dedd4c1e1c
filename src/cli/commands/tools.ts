import { UsageError } from "../../core/errors.ts";
import { defineCommand } from "../command.ts";
import { type OpenTools, openTools } from "../open-tools.ts";
import { table } from "../output.ts";
import { tryTool } from "../try-tool.ts";

export default defineCommand({
  name: "tools",
  summary:
    "List the tools of a chain: which are ready here, by what means, and what the others need. With a tool and a body: call it as a chain would.",
  arguments: "[tool] [body…]",
  examples: [
    "coa tools",
    "coa tools --mcp 'npx -y some-mcp-server' --json",
    'coa tools web_search "height of Mont Blanc" --index .coa/index/wiki',
    "coa tools code 'print(2 ** 100)'",
  ],
  options: {},
  reads: ["tools"],
  async run({ values, settings, positionals, out, signal, session }) {
    const [name, ...words] = positionals;
    if (name !== undefined && words.length === 0)
      throw new UsageError(`coa tools ${name} needs what to ask it: coa tools ${name} "…"`);
    const names = name === undefined || settings.tools.names.length > 0 ? settings.tools.names : [name];
    const opened = await openTools({ ...settings.tools, names }, session);
    if (name === undefined) {
      const described = describe(opened);
      if (values.json) out.json(described);
      else
        out.print(
          table(
            described.map(({ name: tool, ready, detail, remedy }) => [
              ready ? out.style("green", "ready") : out.style("yellow", "--"),
              tool,
              remedy ? `${detail} (${remedy})` : detail,
            ]),
          ),
        );
      return 0;
    }
    const trial = await tryTool(opened.tools.find((tool) => tool.name === name)!, words.join(" "), signal);
    if (values.json) out.json({ tool: name, ...trial });
    else {
      out.print(trial.output);
      out.note(`${trial.ok ? "done" : "failed"} in ${trial.ms.toFixed(0)} ms`);
    }
    return trial.ok ? 0 : 1;
  },
});

function describe({ states, tools }: OpenTools) {
  return states.map((state) => ({
    ...state,
    description: tools.find((tool) => tool.name === state.name)?.description,
  }));
}
