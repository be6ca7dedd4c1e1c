import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { writeFolder } from "../../base/files/write-folder.ts";
import { UsageError } from "../../core/errors.ts";
import { createWorld } from "../../lab/create-world.ts";
import { indexHtml, pageHtml, worldDocuments } from "../../lab/world-pages.ts";
import { defineCommand } from "../command.ts";
import { worldFlags, worldOptionsOf } from "./lab-options.ts";

export default defineCommand({
  name: "lab new",
  summary: "Write a made-up world to a folder: its pages as HTML, and documents.jsonl for a search index.",
  examples: ["coa lab new --seed 7 --pages 600 --out .coa/worlds/seven"],
  options: {
    ...worldFlags,
    out: { type: "string", valueName: "folder", describe: "Where to write it" },
  },
  async run({ values, out }) {
    if (!values.out) throw new UsageError("say where to write the world with --out <folder>");
    const world = createWorld(worldOptionsOf(values));
    await writeFolder(values.out, async (folder) => {
      await mkdir(join(folder, "pages"));
      await writeFile(join(folder, "world.json"), `${JSON.stringify({ version: 1, ...world.options })}\n`);
      const documents = worldDocuments(world).map((document) => JSON.stringify(document));
      await writeFile(join(folder, "documents.jsonl"), `${documents.join("\n")}\n`);
      await writeFile(join(folder, "pages", "index.html"), indexHtml(world));
      for (const entity of world.entities) {
        await writeFile(join(folder, "pages", `${entity.page}.html`), pageHtml(world, entity));
      }
    });
    const figures = { folder: values.out, ...world.options, sharedNames: world.homonyms.size };
    if (values.json) out.json(figures);
    else
      out.print(
        `${world.entities.length} pages in ${values.out}; ${world.homonyms.size} names stand for several things`,
      );
    return 0;
  },
});
