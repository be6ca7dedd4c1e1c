import { defineCommand, missingArgument } from "../command.ts";
import { openTools, toolFlags } from "../open-tools.ts";
import { trialOf } from "../try-tool.ts";

export default defineCommand({
  name: "tools try",
  summary: "Call one tool as a chain would and print what the model would read.",
  arguments: "<tool> <body…>",
  examples: [
    'coa tools try web_search "height of Mont Blanc" --index .coa/index/wiki',
    "coa tools try crawl_page https://example.org",
    "coa tools try code 'print(2 ** 100)'",
  ],
  options: toolFlags,
  async run({ values, positionals, out, signal }) {
    const [name, ...words] = positionals;
    if (!name || words.length === 0) throw missingArgument(this, "a tool and what to ask it");
    const opened = await openTools({ ...values, tools: values.tools ?? name }, { signal });
    try {
      const tool = opened.tools.find((candidate) => candidate.name === name)!;
      const trial = await (await trialOf(tool, words.join(" ")))(signal);
      if (values.json) out.json({ tool: name, ...trial });
      else {
        out.print(trial.output);
        out.note(`${trial.ok ? "done" : "failed"} in ${trial.ms.toFixed(0)} ms`);
      }
      return trial.ok ? 0 : 1;
    } finally {
      await opened.close();
    }
  },
});
