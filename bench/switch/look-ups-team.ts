/**
 * What the team of recipes/real/look-ups.ts does with the tests of its students, for bench/switch/outcomes.ts:
 * `node bench/switch/look-ups-team.ts <evaluation of a student> <runs.jsonl>`.
 */
import { writeFile } from "node:fs/promises";
import { readEvaluation } from "../../src/evaluate/read-evaluation.ts";
import { lookUpTeam, lookUpTools, lookUpWorld } from "../../src/lab/index.ts";
import { runTeam } from "../../src/team/index.ts";

const [folder, file] = process.argv.slice(2) as [string, string];
const { tasks } = await readEvaluation(folder);
const tools = lookUpTools(lookUpWorld(tasks[0]!.world!.seed, "test"));
const runs = [];
for (const task of tasks) runs.push(await runTeam(task, { roles: lookUpTeam(), tools, verify: false }));
await writeFile(file, runs.map((run) => `${JSON.stringify(run)}\n`).join(""));
