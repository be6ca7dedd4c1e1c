import { rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { type JsonlWriter, openJsonl } from "../../base/files/open-jsonl.ts";
import { readJsonl } from "../../base/files/read-jsonl.ts";
import { UsageError } from "../../core/errors.ts";
import { asObject } from "../../core/json-value.ts";
import { type Side, splitExactly, splitKey, splitSide } from "../../dataset/split.ts";
import { loadTasks } from "../../tasks/benchmarks/load-tasks.ts";
import { defineCommand, oneInputFile } from "../command.ts";
import { number, text, whole } from "../setting.ts";

/** Trajectories and team runs name their task. */
const splittable = z.looseObject({ id: z.string(), taskId: z.string(), session: z.string().optional() });

export default defineCommand({
  examples: [
    "coa dataset split chains.jsonl --validation 0.05",
    "coa dataset split tasks.jsonl --validation 0.1 --test 0.1 --seed 7",
  ],
  summary:
    "Split trajectories, team runs or tasks into train, validation and test files, by task; turns of a session stay together.",
  arguments: "<file.jsonl>",
  options: {
    validation: number("Share of tasks for validation", { default: 0.05, min: 0, max: 1, valueName: "share" }),
    test: number("Share of tasks for testing; from 1 on, exactly so many tasks", {
      default: 0,
      min: 0,
      valueName: "share|n",
    }),
    seed: whole("Another seed gives another split", { default: 0, min: 0, valueName: "n" }),
    out: text("Where to write (default: beside the file)", { valueName: "folder", group: "output" }),
  },
  async run({ values, positionals, signal, session }) {
    const file = oneInputFile(positionals, "a JSONL file");
    const { validation, test, seed } = values;
    const exact = test >= 1;
    if (exact && (validation > 0 || !Number.isInteger(test)))
      throw new UsageError(`--test ${test} is a number of tasks: it is whole, and goes with --validation 0`);
    if (!exact && validation + test > 1)
      throw new UsageError(`--validation ${validation} and --test ${test} must be less than 1 together`);
    const name = basename(file).replace(/\.jsonl$/, "");
    const pathOf = (side: Side) => join(values.out ?? dirname(file), `${name}.${side}.jsonl`);
    const sides: Side[] = [
      "train",
      ...(validation > 0 ? (["validation"] as const) : []),
      ...(test > 0 ? (["test"] as const) : []),
    ];
    const writers = new Map<Side, JsonlWriter<unknown>>();
    const counts: Record<string, number> = {};
    for (const side of sides) {
      await rm(pathOf(side), { force: true }); // a split is written again, never appended to
      writers.set(side, session.closeAtEnd(await openJsonl(pathOf(side))));
      counts[side] = 0;
    }
    // Questions of any form become tasks; everything else is read line by line.
    const first = asObject((await readJsonl(file).next()).value);
    const tasks =
      first && !("taskId" in first) ? await loadTasks(file, { allowMissingGolds: true, signal }) : undefined;
    const records = () => tasks ?? readJsonl(file, splittable, { signal });
    const keys: string[] = [];
    if (exact) for await (const record of records()) keys.push(splitKey(record));
    const chosen = splitExactly(keys, test, seed);
    for await (const record of records()) {
      const key = splitKey(record);
      const side = exact ? (chosen.has(key) ? "test" : "train") : splitSide(key, { validation, test, seed });
      await writers.get(side)!.append(record);
      counts[side]!++;
    }
    const files = sides.map((side) => ({ side, file: pathOf(side), records: counts[side]! }));
    return { json: files, text: files.map((one) => `${one.side}: ${one.records} in ${one.file}`) };
  },
});
