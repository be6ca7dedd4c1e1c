/**
 * The whole story in one file: a team works in a made-up web, its runs become chains, a small model learns them, practises
 * with live tools, and is compared with the team. `coa quickstart` does the same with resume and progress.
 *
 *   node recipes/quickstart.ts [folder] [--toy]
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Example, Model, Segment, Task, Tool, Trajectory, World } from "../src/index.ts";
import * as coa from "../src/index.ts";

const toy = process.argv.includes("--toy");
const folder = process.argv[2]?.startsWith("--") ? ".coa/recipe" : (process.argv[2] ?? ".coa/recipe");
const size = toy
  ? { worlds: 1, tasks: 60, steps: 8, hidden: 64, layers: 2, rlSteps: 1, groups: 2, testTasks: 10 }
  : { worlds: 125, tasks: 40, steps: 1000, hidden: 128, layers: 4, rlSteps: 12, groups: 24, testTasks: 500 };
const seed = 1;
await mkdir(folder, { recursive: true });

// 1. A team of scripted agents solves tasks; distillation turns each recorded run into one chain.
const roles = coa.scriptedSpecialists();
const chains: Trajectory[] = [];
for (let number = 0; number < size.worlds; number++) {
  const world = coa.createWorld({ seed: number, pages: 600 });
  const tools = bulkTools(world);
  for (const task of coa.worldTasks(world, { count: size.tasks })) {
    const run = await coa.runTeam(task, { roles, tools });
    const { trajectory } = coa.distillRun(run, { profile: coa.labProfile, systemPrompt: false });
    if (trajectory && run.answer === task.answers[0]) chains.push(trajectory);
  }
}
console.log(`${chains.length} chains from the team`);

// 2. A tokenizer and a model from nothing; supervised training on what the model writes, tool outputs masked.
const texts = chains
  .slice(0, 1000)
  .flatMap((chain) => [` ${chain.prompt[0]!.content}`, coa.trajectoryText(chain.segments)]);
const tokenizer = coa.trainTokenizer(texts, {
  vocabularySize: 768,
  specialTokens: coa.tagTokens([coa.labProfile]),
  prompt: "question",
});
const examples = examplesOf(chains);
// Reading lessons: pages with five questions each, because chains practise reading too rarely.
const lessonWorlds = Array.from({ length: toy ? 1 : 12 }, (_, number) => coa.createWorld({ seed: number, pages: 600 }));
const lessons = examplesOf(lessonWorlds.flatMap(coa.readingLessons), (one) => (coa.isLessonQuestion(one) ? 0 : 1));
const printable = Array.from({ length: tokenizer.vocabularySize - 40 }, (_, token) => token).filter((token) =>
  tokenizer.tokenBytes(token).every((byte) => byte >= 32 && byte < 127),
);
const engine = await coa.openEmbeddedEngine({
  config: {
    architecture: "qwen2",
    vocabularySize: tokenizer.vocabularySize,
    hiddenSize: size.hidden,
    layers: size.layers,
    heads: size.hidden / 32,
    kvHeads: size.hidden / 32,
    headSize: 32,
    intermediateSize: size.hidden * 3,
    ropeTheta: 1e6,
    rmsEpsilon: 1e-6,
    tieEmbeddings: true,
    qkvBias: true,
    maxContext: 1024,
  },
  seed,
  copyInit: true,
  optimizer: "muon",
});
const [drillSteps, lessonSteps] = [Math.ceil(size.steps / 15), Math.ceil(size.steps / 4)];
await coa.trainSft({
  engine,
  source: coa.inSequence([
    { source: coa.copyDrills({ tokens: printable, tokensPerBatch: 2048, length: 256, seed }), steps: drillSteps },
    { source: coa.fixedExamples([...examples, ...lessons], 3072, seed), steps: lessonSteps },
    { source: coa.fixedExamples(examples, 3072, seed + 1), steps: size.steps - lessonSteps },
  ]),
  folder: join(folder, "sft"),
  seed,
  steps: drillSteps + size.steps,
  optimizer: { learningRate: 1.5e-3, matrixLearningRate: 5e-3, gradientClip: 1 },
  schedule: { warmupSteps: 30, decay: "linear", decayShare: 0.75, floor: 0.02 },
});
await engine.saveModel(join(folder, "sft/model"));
await tokenizer.save(join(folder, "sft/model"));
await engine.close();

// 3. Reinforcement with live tools: real search, real HTTP, a real sandbox.
const sandbox = coa.chooseSandbox({ isolation: "run" });
const learner = await coa.openEmbeddedEngine({ folder: join(folder, "sft/model"), optimizer: "adamw" });
const model = coa.engineModel(learner, tokenizer);
const practice = await liveTools(coa.createWorld({ seed: 310, pages: 600 }));
const sftCopy = await coa.openEmbeddedEngine({ folder: join(folder, "sft/model") });
await coa.trainRl({
  engine: learner,
  tokenizer,
  folder: join(folder, "rl"),
  seed,
  steps: size.rlSteps,
  groups: size.groups,
  samples: 8,
  maxRounds: 3,
  epochs: 2,
  baseline: "least-variance",
  tasks: (step, round, count) => coa.worldTasks(practice.world, { count, seed: step * 10 + round + 1 }),
  rollout: (task, how) => ask(task, model, practice.tools, 1, how.seed),
  reward: coa.outcomeReward(coa.taskGrader()),
  optimizer: { learningRate: 2e-4, gradientClip: 1 },
  schedule: { warmupSteps: 2, decay: "linear", decayShare: 1, floor: 0.1 },
});
await learner.saveModel(join(folder, "rl/model"));
await tokenizer.save(join(folder, "rl/model"));

// 4. Everybody answers the same questions about a world whose names and numbers training never showed.
const test = await liveTools(coa.createWorld({ seed: 7, pages: 600, split: "test" }));
const tasks = coa.worldTasks(test.world, { count: size.testTasks });
const countTokens = (text: string) => tokenizer.encode(text).length;
const chain = (name: string, player: Model) =>
  coa.defineSystem({ name, topology: "single", run: (task, how) => ask(task, player, test.tools, 0, how.seed) });
const systems = [
  coa.defineSystem({
    name: "team",
    topology: "handoff",
    run: (task) => coa.runTeam(task, { roles, tools: test.tools, topology: "handoff", countTokens }),
  }),
  chain("chain-sft", coa.engineModel(sftCopy, tokenizer)),
  chain("chain-rl", model),
];
for (const system of systems) {
  await coa.runEvaluation(tasks, system, {
    folder: join(folder, "evaluate", system.name),
    grader: coa.taskGrader(),
    concurrency: 32,
    seed,
  });
}
const evaluations = await Promise.all(systems.map(({ name }) => coa.readEvaluation(join(folder, "evaluate", name))));
const comparison = coa.compareEvaluations(evaluations);
await writeFile(join(folder, "report.html"), await coa.comparisonReport(evaluations, comparison));
console.log(coa.comparisonTable(comparison));
await Promise.all([practice.close(), test.close(), sandbox.close(), learner.close(), sftCopy.close()]);

/** Search, pages and sums within this process, for bulk data. */
function bulkTools(world: World): Tool[] {
  return coa.compactTools([search(world), coa.crawlPage({ fetchPage: coa.memoryFetch(world) }), coa.arithmeticTool()]);
}

/** The same world served over HTTP, with programs in the sandbox. */
async function liveTools(world: World) {
  const site = await coa.serveWorld(world);
  const fetcher = coa.pageFetcher({ allowHosts: [site.host] });
  const crawl = coa.crawlPage({ fetchPage: coa.servedFetch(site.base, fetcher.fetchPage) });
  const close = async () => {
    await fetcher.close();
    await site.close();
  };
  return { world, tools: coa.compactTools([search(world), crawl, coa.codeTool({ sandbox })]), close };
}

function search(world: World): Tool {
  return coa.webSearch({
    provider: coa.indexProvider(coa.buildIndex(coa.worldDocuments(world), coa.worldIndexOptions)),
    count: 3,
  });
}

function ask(task: Task, player: Model, tools: Tool[], temperature: number, sampleSeed: number): Promise<Trajectory> {
  const limits = { maxSteps: 16, maxTokensPerCall: 200, maxCompletionTokens: 700, answerReserve: 24 };
  return coa.runChain(task, {
    model: player,
    tools,
    profile: coa.labProfile,
    systemPrompt: false,
    limits,
    sampling: { temperature, seed: sampleSeed },
  });
}

function examplesOf(trajectories: Trajectory[], weightOf?: (segment: Segment) => number): Example[] {
  return trajectories.flatMap((one) => coa.trajectoryToExample(one, tokenizer, { weightOf }).example ?? []);
}
