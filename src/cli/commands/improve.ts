import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { z } from "zod";
import { readModelUse } from "../../base/files/model-use-file.ts";
import { readJsonAs } from "../../base/files/read-json.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { runSteps } from "../../base/files/resumable-steps.ts";
import { openWorkspace } from "../../base/files/workspace.ts";
import { writeFileAtomically, writeJson } from "../../base/files/write-file.ts";
import { annotationSchema } from "../../core/annotation.ts";
import { UsageError } from "../../core/errors.ts";
import { fingerprint } from "../../core/fingerprint.ts";
import type { Grader } from "../../core/grader.ts";
import { asObject } from "../../core/json-value.ts";
import type { Task } from "../../core/task.ts";
import { taskSchema } from "../../core/task-schema.ts";
import { teamRunSchema } from "../../core/team-run.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { trajectorySchema } from "../../core/trajectory-schema.ts";
import { addUsage, emptyUsage, type Usage } from "../../core/usage.ts";
import { modelFingerprint } from "../../engines/embedded/files/model-fingerprint.ts";
import { readEvaluation } from "../../evaluate/read-evaluation.ts";
import { auditedSchema } from "../../switch/audit.ts";
import { readCascade, writeCascade } from "../../switch/cascade.ts";
import { cascadeSentence } from "../../switch/cascade-report.ts";
import { type Decision, decideRound, type RoundFacts } from "../../switch/decide-round.ts";
import { type FitResult, fitCascade } from "../../switch/fit-cascade.ts";
import { gatherLeftovers, type Leftovers } from "../../switch/leftovers.ts";
import { agreementPair, type Pair, readChains } from "../../switch/pairs.ts";
import { readActs, recordAct, servingAfter } from "../../switch/registry.ts";
import { defineCommand, MissingArgument, runLine } from "../command.ts";
import { versionName } from "../open-versions.ts";
import { text, whole } from "../setting.ts";
import { settingArguments } from "../settings/index.ts";
import { shareOf } from "./cascade-fit.ts";
import { openGrader } from "./eval-grading.ts";
import { insideOf } from "./up.ts";

export default defineCommand({
  summary:
    "One round of improvement from what production left: learn from what the old system had to answer, fit the cascade anew on fresh traffic, and promote the new model only if it is not worse and cheaper. Started again, it resumes.",
  arguments: "<kept chains> <recorded runs of the old system>",
  examples: ["coa improve kept.jsonl old-runs.jsonl --tasks exam.jsonl --max-loss 1% --confidence 95%"],
  options: {
    tasks: text("The fixed exam: tasks that nothing is trained on", { valueName: "file" }),
    "max-loss": text("Max loss of success against the old system, in points of 100", { default: "1%", valueName: "share", group: "limits" }),
    confidence: text("How sure the promise is", { default: "95%", valueName: "share", group: "limits" }),
    steps: whole("Updates of training (default: two passes over the data)", { valueName: "n", group: "limits" }),
  }, // biome-ignore format: one flag a line
  reads: ["improve", "chain", "tools", "distill", "judge", "grader"],
  async run({ values, settings, positionals, out, signal, session, commands }) {
    const [kept, runs] = positionals;
    if (kept === undefined || runs === undefined) throw new MissingArgument("kept chains and recorded runs");
    const { tasks: exam } = values;
    if (exam === undefined)
      throw new UsageError("coa improve needs an exam that nothing is trained on: --tasks <file>");
    const { root, path, folder: make } = await openWorkspace();
    const promise = { maxLoss: shareOf(values["max-loss"], "--max-loss"), confidence: shareOf(values.confidence, "--confidence") }; // biome-ignore format: one promise
    const { number, seen, earlier } = await nextRound(path("switch", "rounds"));
    const round = await make("switch", "rounds", String(number));
    const at = (...parts: string[]) => join(round, ...parts);
    if (!existsSync(at("gathered.json"))) {
      const { live } = servingAfter(await readActs(root));
      if (live === undefined) throw new UsageError("no model is live: promote one with coa promote <model>");
      const found = await gather(kept, runs, root, seen, round, live);
      if (found === 0) {
        out.print("nothing to learn from: no question since the last round went to the old system with a recorded run");
        return 1;
      }
    }
    const { live, counts, usage } = await recorded<Gathered>(at("gathered.json"), "live", "counts", "usage");
    const line = async (args: string[]) => {
      out.note(`$ coa ${args.join(" ")}`);
      const code = await runLine(args, insideOf(out), signal, commands);
      if (code !== 0) throw new UsageError(`coa ${args[0]} ${args[1]} failed: see above. Started again, coa improve continues here`); // biome-ignore format: one refusal
    };
    const profile = (await readModelUse(live))?.language.profile.name;
    const temperature = (await readCascade(live))?.temperature ?? 0;
    const candidate = at("sft", "model");
    const work = [...settingArguments("chain", settings.chain, ["lab"]), ...settingArguments("tools", settings.tools, ["tools", "tool", "mcp", "docs", "index", "search"])]; // biome-ignore format: what chains work with
    const score = (tasks: string, model: string, name: string) => ["eval", "run", tasks, "--model", model, "--temperature", String(temperature), ...work, "--set", "chain.entropies=true", "--name", name]; // biome-ignore format: one command
    // The exam of a model is taken once: a later round finds it under the same name.
    const asked = await readFile(exam, "utf8");
    const examName = async (model: string) => `exam-${fingerprint(JSON.stringify([asked, work, temperature, await modelFingerprint(model)])).slice(0, 12)}`; // biome-ignore format: one name
    const guard = [...settings.improve.guard, at("guard.jsonl"), ...earlier];
    const freshName = `round-${number}-fresh`;
    const steps = [
      { name: "distill", inputs: [at("runs.jsonl"), at("tasks.jsonl")], run: () => line(["distill", "run", at("runs.jsonl"), "--tasks", at("tasks.jsonl"), ...(profile === undefined ? [] : ["--profile", profile]), "--set", "distill.keepWithoutReflection=1", "--set", "distill.minInteractions=1", ...settingArguments("distill", settings.distill, []), "--assume-right", "--resume", "fresh", "--out", at("distilled")]) },
      { name: "dataset", inputs: [at("distilled", "trajectories.jsonl"), ...guard], run: () => line(["dataset", "build", at("distilled", "trajectories.jsonl"), ...guard, "--tokenizer", live, "--out", at("dataset")]) },
      { name: "train", inputs: [at("dataset", "examples.jsonl")], run: () => line(["train", "sft", at("dataset"), "--model", live, ...(values.steps === undefined ? [] : ["--steps", String(values.steps)]), "--out", at("sft"), "--resume", "auto"]) },
      { name: "exam of the live model", inputs: [exam], identity: work, run: async () => line(score(exam, live, await examName(live))) },
      { name: "exam of the candidate", inputs: [exam, join(candidate, "model.safetensors")], identity: work, run: async () => line(score(exam, candidate, await examName(candidate))) },
      { name: "fresh traffic", inputs: [at("fresh.jsonl"), join(candidate, "model.safetensors")], identity: work, run: () => line([...score(at("fresh.jsonl"), candidate, freshName), "--resume", "fresh"]) },
    ]; // biome-ignore format: one step a line
    const ends = await runSteps(round, steps, { signal, onStart: (step, { number: place, of, done }) => out.note(`${place} of ${of}: ${step.name}${done ? ", done before" : ""}`) }); // biome-ignore format: one note
    const { grader } = await openGrader(settings, session, await readAllJsonl(exam, taskSchema));
    const fresh = await readAllJsonl(at("fresh.jsonl"), taskSchema);
    const chains = {
      live: new Map((await readAllJsonl(at("chains.jsonl"), trajectorySchema)).map((chain) => [chain.id, chain])),
      candidate: new Map([...(await readChains({ folder: path("evals", freshName) })).values()].map((chain) => [chain.taskId, chain])), // biome-ignore format: one map
    };
    const both = fresh.filter(({ id }) => chains.live.has(id) && chains.candidate.has(id));
    // Every round may promote by luck: the confidence is shared by all of them, so that the promise holds for the whole sequence.
    const level = 1 / (number * (number + 1));
    const fit = async (who: "live" | "candidate", folder: string): Promise<FitResult> => {
      const pairs = await agreementPairs(both, chains[who], usage, grader);
      return fitCascade(pairs, { ...promise, basis: "agreement", model: await modelFingerprint(folder), temperature, level }); // biome-ignore format: one fit
    };
    const fits = { live: await fit("live", live), candidate: await fit("candidate", candidate) };
    const right = async (model: string) => new Map((await readEvaluation(path("evals", await examName(model)))).records.map(({ taskId, grade }) => [taskId, grade.correct === true])); // biome-ignore format: one map
    const [before, after] = [await right(live), await right(candidate)];
    const shared = [...before.keys()].filter((id) => after.has(id));
    const decision = decideRound({
      exam: { live: shared.map((id) => before.get(id)!), candidate: shared.map((id) => after.get(id)!) },
      margin: settings.improve.margin,
      level,
      ...fits,
    });
    if (fits.candidate.cascade) await writeCascade(candidate, fits.candidate.cascade);
    const lengthOf = async (...file: string[]) => (await readAllJsonl(at(...file))).length;
    const facts: RoundFacts = {
      number,
      basis: "agreement with the old system",
      counts,
      learned: await lengthOf("distilled", "trajectories.jsonl"),
      guarded: await lengthOf("guard.jsonl"),
      seconds: Object.values(ends).reduce((sum, { seconds }) => sum + seconds, 0),
      auditTokens: (counts.audited - Math.min(counts.audited, counts.escalated)) * usage.billedTokens,
    };
    const { live: serving } = servingAfter(await readActs(root));
    if (decision.promote && serving !== resolve(candidate)) {
      // The candidate was compared with the model that was live when the round began, and comes from it.
      if (serving === live) await recordAct(root, { act: "promote", folder: resolve(candidate), why: `round ${number}` }); // biome-ignore format: one act
      else Object.assign(decision, { promote: false, reasons: [`another model is live since the round began (${serving})`] }); // biome-ignore format: one reason
    }
    const escalated = { live: fits.live.cascade?.figures.all.escalated ?? 1, candidate: fits.candidate.cascade?.figures.all.escalated ?? 1 }; // biome-ignore format: one line
    const fitted = fits.candidate.cascade;
    const sentence = fitted && cascadeSentence(fitted);
    await writeJson(at("decision.json"), { ...decision, escalated, facts, sentence, figures: fitted?.figures });
    const json = { round: number, ...decision, escalated, facts, file: at("decision.json") };
    return { json, text: roundText(number, decision, sentence, facts), code: decision.promote ? 0 : 1 };
  },
});

function roundText(
  number: number,
  { promote, reasons, exam, tokens }: Decision,
  sentence: string | undefined,
  { learned, guarded, seconds, auditTokens }: RoundFacts,
): string {
  const saved = tokens.candidate === null ? 0 : (tokens.live ?? tokens.old!) - tokens.candidate;
  const pays = saved > 0 ? `, paid back after ${Math.ceil(auditTokens / saved)} questions` : "";
  return [
    `round ${number}: ${promote ? "promoted" : `not promoted: ${reasons.join("; ")}`}`,
    `exam of ${exam.tasks} tasks: ${(100 * exam.live).toFixed(1)} -> ${(100 * exam.candidate).toFixed(1)} %`,
    ...(sentence === undefined ? [] : [`${sentence} (agreement with the old system)`]),
    `learned from ${learned} runs of the old system, beside ${guarded} chains that it agreed with; ${Math.round(seconds / 60)} minutes, ${Math.round(auditTokens)} tokens of audits${pays}`,
    `its page: coa studio, #/rounds/${number}`,
  ].join("\n");
}

/** The first round without a decision, the requests that earlier rounds used, and what they taught. */
async function nextRound(folder: string): Promise<{ number: number; seen: Set<string>; earlier: string[] }> {
  const numbers = (await readdir(folder).catch(() => [])).map(Number).filter(Number.isInteger).sort((a, b) => a - b); // biome-ignore format: one line
  const done = numbers.filter((one) => existsSync(join(folder, String(one), "decision.json")));
  const seen = new Set<string>();
  const earlier: string[] = [];
  for (const one of done) {
    for (const file of ["tasks.jsonl", "fresh.jsonl", "guard.jsonl"]) for (const { id } of await readAllJsonl<Task>(join(folder, String(one), file))) seen.add(id); // biome-ignore format: one line
    const decision = await recorded<Decision>(join(folder, String(one), "decision.json"), "promote");
    if (decision.promote) earlier.push(join(folder, String(one), "distilled", "trajectories.jsonl"));
  }
  return { number: (done.at(-1) ?? 0) + 1, seen, earlier };
}

/** What a round works with, fixed at its beginning. */
/** What a round wrote, with the fields that are read here. */
async function recorded<T>(path: string, ...fields: string[]): Promise<T> {
  const has = (value: unknown) => fields.every((name) => asObject(value)?.[name] !== undefined);
  const found = await readJsonAs(path, z.custom<T>(has, `it lacks ${fields.join(" or ")}`), "what a round wrote");
  if (found === undefined) throw new UsageError(`${path} is gone: delete its folder to begin the round again`);
  return found;
}

interface Gathered {
  live: string;
  counts: Leftovers["counts"];
  /** What a question costs the old system. */
  usage: Usage;
}

/** Writes what production left since the last round; how many runs there are to learn from. */
async function gather(
  kept: string,
  runsFile: string,
  root: string,
  seen: ReadonlySet<string>,
  round: string,
  live: string,
): Promise<number> {
  const optional = (name: string) => join(root, ...name.split("/"));
  const runs = await readAllJsonl(runsFile, teamRunSchema);
  const left = gatherLeftovers(
    {
      kept: await readAllJsonl(kept, trajectorySchema),
      runs,
      version: versionName(root, live),
      audited: await readAllJsonl(optional("switch/audit.jsonl"), auditedSchema),
      annotations: await readAllJsonl(optional("annotations.jsonl"), annotationSchema),
    },
    seen,
  );
  for (const name of ["runs", "tasks", "fresh", "chains", "guard"] as const)
    await writeFileAtomically(join(round, `${name}.jsonl`), left[name].map((item) => `${JSON.stringify(item)}\n`).join("")); // biome-ignore format: one file
  const sum = runs.map(({ usage }) => usage).reduce(addUsage, emptyUsage());
  const usage = Object.fromEntries(Object.entries(sum).map(([key, value]) => [key, value / Math.max(1, runs.length)])) as unknown as Usage; // biome-ignore format: one mean
  if (left.tasks.length > 0) await writeJson(join(round, "gathered.json"), { live, counts: left.counts, usage } satisfies Gathered); // biome-ignore format: one file
  return left.tasks.length;
}

function agreementPairs(
  tasks: readonly Task[],
  chains: ReadonlyMap<string, Trajectory>,
  usage: Usage,
  grader: Grader,
): Promise<Pair[]> {
  return Promise.all(tasks.map((task) => agreementPair(task, chains.get(task.id)!, { answer: task.answers[0]!, usage }, grader))); // biome-ignore format: one pair
}
