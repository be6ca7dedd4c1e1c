/**
 * All stages as a library call: a team works in a made-up web, its runs become chains, a small model learns them,
 * practises with live tools, and is compared with the team. `coa quickstart` calls the same function. To see how a
 * stage is made, read `src/lab/quickstart/`: one file a stage, each a few calls of the public API.
 *
 *   node recipes/quickstart.ts [folder] [--toy]
 */
import { runQuickstart } from "../src/lab/index.ts";
import { type QuickstartSettings, quickstartSizes } from "../src/lab/quickstart/settings.ts";

const toy: QuickstartSettings = {
  ...quickstartSizes.fast,
  teamTasks: 60,
  tasksPerWorld: 30,
  pages: 60,
  model: { hiddenSize: 64, layers: 2, heads: 2, kvHeads: 2, intermediateSize: 96 },
  sft: { copySteps: 2, easySteps: 2, steps: 4, readingWorlds: 0, batchTokens: 1024, matrixRate: 5e-3, rate: 1.5e-3 },
  rl: { steps: 1, groups: 2, samples: 2, rate: 1e-4 },
  testTasks: 10,
};

const { table, report } = await runQuickstart({
  folder: process.argv[2]?.startsWith("--") ? ".coa/recipe" : (process.argv[2] ?? ".coa/recipe"),
  settings: process.argv.includes("--toy") ? toy : undefined,
  seed: 1,
  onStage: (event) => {
    if (event.type === "stage-start") console.log(`${event.number}/${event.of} ${event.name}: ${event.what}`);
    else console.log("   ", event.figures);
  },
});
console.log(table);
console.log(`The whole report: ${report}`);
