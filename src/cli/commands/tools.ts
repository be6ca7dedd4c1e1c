import { messageOf, UsageError } from "../../core/errors.ts";
import type { Tool } from "../../core/tool.ts";
import { readCallBody } from "../../language/call-body.ts";
import { outputText } from "../../language/observation.ts";
import type { TagSpec } from "../../language/profile.ts";
import { builtInProfiles } from "../../language/profiles.ts";
import { defineCommand } from "../command.ts";
import { type OpenTools, openTools } from "../open-tools.ts";
import { table } from "../output.ts";

export default defineCommand({
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
  async run({ settings, positionals, out, signal, session }) {
    const [name, ...words] = positionals;
    if (name !== undefined && words.length === 0)
      throw new UsageError(`coa tools ${name} needs what to ask it: coa tools ${name} "…"`);
    const names = name === undefined || settings.tools.names.length > 0 ? settings.tools.names : [name];
    const opened = await openTools({ ...settings.tools, names }, session);
    if (name === undefined) {
      const described = describe(opened);
      const rows = described.map(({ name: tool, ready, detail, remedy }) => [
        ready ? out.style("green", "ready") : out.style("yellow", "--"),
        tool,
        remedy ? `${detail} (${remedy})` : detail,
      ]);
      return { json: described, text: table(rows) };
    }
    const trial = await tryTool(opened.tools.find((tool) => tool.name === name)!, words.join(" "), signal);
    const notes = [`${trial.ok ? "done" : "failed"} in ${trial.ms.toFixed(0)} ms`];
    return { json: { tool: name, ...trial }, text: trial.output, notes, code: trial.ok ? 0 : 1 };
  },
});

function describe({ states, tools }: OpenTools) {
  return states.map((state) => ({
    ...state,
    description: tools.find((tool) => tool.name === state.name)?.description,
  }));
}

/** Makes the call described by `body`. */
async function tryTool(tool: Tool, body: string, signal: AbortSignal) {
  const read = await readCallBody(specOf(tool.name), tool, body);
  if (!read.ok) throw new UsageError(read.message);
  const started = performance.now();
  try {
    const outputs: string[] = [];
    for (const input of read.inputs)
      outputs.push(outputText(await tool.execute(input, { signal, trajectoryId: "try", question: body })));
    return { ok: true, output: outputs.join("\n\n"), ms: performance.now() - started };
  } catch (error) {
    signal.throwIfAborted();
    return { ok: false, output: messageOf(error), ms: performance.now() - started };
  }
}

/** How the tag of a tool is written in the profiles that have it; JSON for tools from elsewhere. */
function specOf(name: string): TagSpec {
  const tags = Object.values(builtInProfiles).flatMap((profile) => profile.tags);
  const known = tags.find((tag) => tag.tool === name);
  return known ?? { name, job: "", body: { kind: "json", example: "{}" }, tool: name, think: "optional", next: [] };
}
