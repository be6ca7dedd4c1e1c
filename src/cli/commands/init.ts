import { existsSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { markInitialised, openWorkspace } from "../../base/files/workspace.ts";
import { writeFileAtomically } from "../../base/files/write-file.ts";
import { defineCommand } from "../command.ts";

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

export default defineCommand({
  name: "init",
  summary:
    "Start a project in this folder: a workspace, a configuration, a .env for the model's address. Overwrites nothing.",
  examples: ["coa init"],
  options: {},
  async run({ values, out }) {
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
    // A key must not get into a repository by our doing.
    if (existsSync(".git") && !existsSync(".gitignore")) {
      await writeFile(".gitignore", ".env\n.coa/\nnode_modules/\n", { flag: "wx" });
      made.push(".gitignore");
    }
    if (values.json) out.json({ workspace: workspace.root, made, kept });
    else {
      out.print(`workspace: ${workspace.root}`);
      for (const file of made) out.print(`made ${file}`);
      for (const file of kept) out.print(`left ${file} as it is`);
      out.note(
        "next: coa doctor, then coa up <folder of documents or traces> --dry-run; without a model: coa quickstart",
      );
    }
    return 0;
  },
});
