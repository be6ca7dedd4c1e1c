import { existsSync } from "node:fs";
import { cp, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { markInitialised, openWorkspace } from "../../base/files/workspace.ts";
import { writeFileAtomically } from "../../base/files/write-file.ts";
import { defineCommand } from "../command.ts";
import { choice } from "../setting.ts";

const config = `// The settings of this workspace, read by every command; a flag or --set wins for one call.
// All of them: coa help settings
export default {
  // The model that answers, where it is always the same one; its address and key can stand in .env as well.
  // model: { name: "qwen3-32b", baseUrl: "http://localhost:8000/v1" },
  // tools: { docs: "handbook", search: "serper", modules: ["./tools.ts"] },
  // judge: { model: "gpt-4.1-mini" },
  // Dollars per million tokens read and written: needed for estimates and limits in money.
  // spending: { price: ["0.4,1.6"], maxUsd: 10 },
} satisfies import("chain-of-agents").Config;
`;

const environment = `# The model that plays the team, any OpenAI-compatible server. coa reads this file; never commit it.
# OPENAI_BASE_URL=http://localhost:8000/v1
# OPENAI_API_KEY=
# OPENAI_MODEL=
`;

/** Asks a server that `coa serve` started, by the API that every client speaks. */
const client = `const url = process.env.OPENAI_BASE_URL ?? "http://127.0.0.1:4242/v1";
const { data } = await (await fetch(url + "/models")).json();
const question = process.argv[2] ?? "What is the birthplace of Gibu Dosedi?";
const response = await fetch(url + "/chat/completions", {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ model: data[0].id, messages: [{ role: "user", content: question }] }),
});
const { choices, error } = await response.json();
console.log(choices?.[0].message.content ?? error);
`;

const tutorials = join(import.meta.dirname, "..", "..", "..", "docs", "tutorials");

/** What to begin with: an example that works, and what is typed next. */
const templates = {
  docs: {
    file: "harbours",
    copied: join(tutorials, "harbours"),
    next: "coa up harbours --questions 120 --student shipped --dry-run (needs the address of a model in .env)",
  },
  traces: {
    file: "traces.jsonl",
    copied: join(tutorials, "traces.jsonl"),
    next: "coa up traces.jsonl --student shipped --steps 200",
  },
  serve: {
    file: "client.mjs",
    text: client,
    next: "coa serve --lab 7 --port 4242, and in another terminal: node client.mjs",
  },
};

export default defineCommand({
  summary:
    "Start a project in this folder: a workspace, a configuration, a .env for the model's address. Overwrites nothing.",
  examples: ["coa init", "coa init --template traces"],
  options: {
    template: choice(Object.keys(templates) as (keyof typeof templates)[], "Also an example to begin with: documents, traces of an agent, or a client of a server"),
  }, // biome-ignore format: one flag a line
  async run({ values }) {
    const workspace = await openWorkspace();
    await markInitialised();
    const made: string[] = [];
    const kept: string[] = [];
    const hasConfig = (await readdir(".")).some((name) => /^coa\.config\.(?:ts|js|json)$/.test(name));
    for (const [file, text] of [
      ["coa.config.ts", config],
      [".env", environment],
    ] as const) {
      if (existsSync(file) || (file === "coa.config.ts" && hasConfig)) kept.push(file);
      else {
        await writeFileAtomically(file, text);
        made.push(file);
      }
    }
    const template = values.template === undefined ? undefined : templates[values.template];
    if (template && existsSync(template.file)) kept.push(template.file);
    else if (template) {
      if ("copied" in template) await cp(template.copied, template.file, { recursive: true });
      else await writeFileAtomically(template.file, template.text);
      made.push(template.file);
    }
    // A key must not get into a repository by our doing.
    if (existsSync(".git") && !existsSync(".gitignore")) {
      await writeFile(".gitignore", ".env\n.coa/\nnode_modules/\n", { flag: "wx" });
      made.push(".gitignore");
    }
    const { root } = workspace;
    return {
      json: { workspace: root, made, kept },
      text: [
        `workspace: ${root}`,
        ...made.map((file) => `made ${file}`),
        ...kept.map((file) => `left ${file} as it is`),
      ],
      notes: [
        `next: ${template?.next ?? "coa doctor, then coa up <folder of documents or traces> --dry-run; without a model: coa quickstart"}`,
      ],
    };
  },
});
