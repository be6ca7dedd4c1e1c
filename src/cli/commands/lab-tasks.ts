import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { writeFolder } from "../../base/files/write-folder.ts";
import { createWorld, type World } from "../../lab/create-world.ts";
import { indexHtml, pageHtml, worldDocuments } from "../../lab/world-pages.ts";
import { type Family, worldTasks } from "../../lab/world-tasks.ts";
import { defineCommand } from "../command.ts";
import { choice, list, text, whole } from "../setting.ts";

export default defineCommand({
  summary: "Write tasks about a made-up world, with answers that can be checked, or the world itself.",
  examples: [
    "coa lab tasks --seed 7 --count 500 --out tasks.jsonl",
    "coa lab tasks --seed 3 --split test --count 100 --family hop2 --family mixed",
    "coa lab tasks --seed 7 --world .coa/worlds/seven",
  ],
  reads: ["lab"],
  options: {
    seed: whole("Which world; two seeds share no names", { default: 0, min: 0, valueName: "n" }),
    split: choice(["train", "test"], "They share neither names nor numbers", { default: "train", valueName: "name" }),
    count: whole("How many tasks", { default: 100, valueName: "n" }),
    family: list("hop1, hop2, hop3, arith, mixed: all by default, in turn; also hop4, hop5, both", { valueName: "name" }),
    out: text("Where to write the tasks; stdout by default", { valueName: "file", group: "output" }),
    world: text("Write the world there: its pages as HTML, and documents.jsonl for a search index", { valueName: "folder", group: "output" }),
  }, // biome-ignore format: one flag a line
  async run({ values, settings, out }) {
    const { seed, split, count, family } = values;
    const { pages, taskSeed } = settings.lab;
    const world = createWorld({ seed, pages, split });
    if (values.world !== undefined) {
      await writeWorld(values.world, world);
      const sharedNames = world.homonyms.size;
      if (values.out === undefined && values.json) out.json({ folder: values.world, ...world.options, sharedNames });
      if (!values.json) out.print(`${pages} pages in ${values.world}; ${sharedNames} names stand for several things`);
      if (values.out === undefined) return 0;
    }
    const families = family.length > 0 ? (family as Family[]) : undefined;
    const tasks = worldTasks(world, { count, families, seed: taskSeed });
    const lines = tasks.map((task) => JSON.stringify(task)).join("\n");
    if (!values.out) return { json: tasks, text: lines };
    await writeFile(values.out, `${lines}\n`);
    return { json: { file: values.out, tasks: tasks.length }, text: `${tasks.length} tasks in ${values.out}` };
  },
});

async function writeWorld(path: string, world: World): Promise<void> {
  await writeFolder(path, async (folder) => {
    await mkdir(join(folder, "pages"));
    await writeFile(join(folder, "world.json"), `${JSON.stringify({ version: 1, ...world.options })}\n`);
    const documents = worldDocuments(world).map((document) => JSON.stringify(document));
    await writeFile(join(folder, "documents.jsonl"), `${documents.join("\n")}\n`);
    await writeFile(join(folder, "pages", "index.html"), indexHtml(world));
    for (const entity of world.entities)
      await writeFile(join(folder, "pages", `${entity.page}.html`), pageHtml(world, entity));
  });
}
