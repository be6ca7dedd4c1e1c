import { writeFile } from "node:fs/promises";
import { createWorld } from "../../lab/create-world.ts";
import { type Family, worldTasks } from "../../lab/world-tasks.ts";
import { defineCommand, numberOf } from "../command.ts";
import { worldFlags, worldOptionsOf } from "./lab-options.ts";

export default defineCommand({
  name: "lab tasks",
  summary: "Write tasks about a lab world, with answers that can be checked.",
  examples: [
    "coa lab tasks --seed 7 --count 500 --out tasks.jsonl",
    "coa lab tasks --seed 3 --split test --count 100 --family hop2 --family mixed",
  ],
  options: {
    ...worldFlags,
    count: { type: "string", default: "100", valueName: "n", describe: "How many tasks" },
    family: {
      type: "string",
      multiple: true,
      describe: "hop1, hop2, hop3, arith, mixed: all by default, in turn; also hop4, hop5, both",
    },
    "task-seed": { type: "string", default: "0", valueName: "n", describe: "Other questions about the same world" },
    out: { type: "string", valueName: "file", describe: "Where to write them; stdout by default" },
  },
  async run({ values, out }) {
    const count = numberOf(values.count, "count", { min: 1, integer: true })!;
    const seed = numberOf(values["task-seed"], "task-seed", { integer: true });
    const families = values.family as Family[] | undefined;
    const tasks = worldTasks(createWorld(worldOptionsOf(values)), { count, families, seed });
    const lines = tasks.map((task) => JSON.stringify(task)).join("\n");
    if (values.out) {
      await writeFile(values.out, `${lines}\n`);
      if (values.json) out.json({ file: values.out, tasks: tasks.length });
      else out.print(`${tasks.length} tasks in ${values.out}`);
    } else if (values.json) out.json(tasks);
    else out.print(lines);
    return 0;
  },
});
