import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { UsageError } from "../../core/errors.ts";
import { defineCommand, missingArgument } from "../command.ts";
import { text } from "../setting.ts";
import { budgetOf } from "./budget-options.ts";
import { recordingsFolder } from "./record-folder.ts";

const examples = [
  "coa record run -- node app.js",
  "coa record run --id tuesday -- npm start",
  "coa record run --set record.maxCalls=200 --max-usd 5 --price 0.25,2,0.03 -- node app.js",
];

export default defineCommand({
  name: "record run",
  summary:
    "Run a Node program with the recorder loaded into it: no code change, no base URL. The same as node --import chain-of-agents/register",
  arguments: "-- <command…>",
  examples,
  options: { id: text("One run id for the whole program", { valueName: "run" }) },
  reads: ["record", "spending"],
  async run({ values, settings, positionals, out, signal }) {
    const [command, ...args] = positionals;
    if (command === undefined) throw missingArgument(this, "a command");
    const budget = budgetOf(settings);
    const folder = resolve(await recordingsFolder(settings.record.folder));
    const name = import.meta.url.endsWith(".ts") ? "register.ts" : "register.js";
    const register = new URL(`../../record/${name}`, import.meta.url).href;
    const child = spawn(command, args, {
      stdio: "inherit",
      signal,
      env: {
        ...process.env,
        NODE_OPTIONS: `${process.env["NODE_OPTIONS"] ?? ""} --import=${register}`.trim(),
        COA_RECORD_DIR: folder,
        ...(values.id !== undefined && { COA_RUN: values.id }),
        ...(budget && { COA_BUDGET: JSON.stringify(budget) }),
      },
    });
    const code = await new Promise<number>((done, fail) => {
      child.once("error", (error) => fail(new UsageError(`can't run ${command}: ${error.message}`, { cause: error })));
      child.once("exit", (status) => done(status ?? 1));
    });
    out.note(`recordings: ${folder} (coa show ${folder})`);
    return code;
  },
});
