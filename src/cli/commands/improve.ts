import { existsSync } from "node:fs";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { readModelUse } from "../../base/files/model-use-file.ts";
import { readJsonIfThere } from "../../base/files/read-json.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { runSteps } from "../../base/files/resumable-steps.ts";
import { openWorkspace } from "../../base/files/workspace.ts";
import { writeFileAtomically, writeJson } from "../../base/files/write-file.ts";
import { UsageError } from "../../core/errors.ts";
import { type Task, taskSchema } from "../../core/task.ts";
import { type TeamRun, teamRunSchema } from "../../core/team-run.ts";
import { trajectorySchema } from "../../core/trajectory.ts";
import { addUsage, emptyUsage, type Usage } from "../../core/usage.ts";
import { modelFingerprint } from "../../engines/embedded/files/model-fingerprint.ts";
import { readEvaluation } from "../../evaluate/read-evaluation.ts";
import { auditedSchema } from "../../switch/audit.ts";
import { writeCascade } from "../../switch/cascade.ts";
import { cascadeSentence } from "../../switch/cascade-report.ts";
import { type Decision, decideRound, roundHtml } from "../../switch/decide-round.ts";
import { type FitResult, fitCascade } from "../../switch/fit-cascade.ts";
import { gatherLeftovers, type Leftovers } from "../../switch/leftovers.ts";
import { readPairs } from "../../switch/pairs.ts";
import { readActs, recordAct, servingAfter } from "../../switch/registry.ts";
import { defineCommand, missingArgument, runLine } from "../command.ts";
import { text, whole } from "../setting.ts";
import { settingArguments } from "../settings/index.ts";
import { shareOf } from "./cascade-fit.ts";
import { openGrader } from "./eval-grading.ts";
import { insideOf } from "./up.ts";

export default defineCommand({
  name: "improve",
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
  reads: ["improve", "chain", "tools", "judge", "grader"],
  async run({ values, settings, positionals, out, signal, session, commands }) {
    const [kept, runs] = positionals;
    if (kept === undefined || runs === undefined) throw missingArgument(this, "kept chains and recorded runs");
    const { tasks: exam } = values;
    if (exam === undefined)
      throw new UsageError("coa improve needs an exam that nothing is trained on: --tasks <file>");
    const { root, folder: make } = await openWorkspace();
    const { live } = servingAfter(await readActs(root));
    if (live === undefined) throw new UsageError("no model is live: promote one with coa promote <model>");
    const { number, seen, earlier } = await nextRound(join(root, "switch", "rounds"));
    const round = await make("switch", "rounds", String(number));
    const at = (...parts: string[]) => join(round, ...parts);
    const promise = { maxLoss: shareOf(values["max-loss"], "--max-loss"), confidence: shareOf(values.confidence, "--confidence") }; // biome-ignore format: one promise
    const started = Date.now();
    const line = async (args: string[]) => {
      out.note(`$ coa ${args.join(" ")}`);
      const code = await runLine(args, insideOf(out), signal, commands);
      if (code !== 0) throw new UsageError(`coa ${args[0]} ${args[1]} failed: see above. Started again, coa improve continues here`); // biome-ignore format: one refusal
    };
    const profile = (await readModelUse(live))?.language.profile.name;
    const candidate = at("sft", "model");
    const score = (tasks: string, model: string, name: string) => ["eval", "run", tasks, "--model", model, ...work, "--set", "chain.entropies=true", "--name", `round-${number}-${name}`]; // biome-ignore format: one command
    const work = [...settingArguments("chain", settings.chain, ["lab"]), ...settingArguments("tools", settings.tools, ["tools", "tool", "mcp", "docs", "index", "search"])]; // biome-ignore format: what chains work with
    const guard = [...settings.improve.guard, ...earlier];
    const steps = [
      { name: "gather", inputs: [kept, runs], outputs: [at("tasks.jsonl"), at("fresh.jsonl")], run: () => gather(kept, runs, root, seen, round) },
      { name: "distill", inputs: [at("runs.jsonl"), at("tasks.jsonl")], run: () => line(["distill", "run", at("runs.jsonl"), "--tasks", at("tasks.jsonl"), ...(profile === undefined ? [] : ["--profile", profile]), "--set", "distill.keepWithoutReflection=1", "--set", "distill.minInteractions=1", "--assume-right", "--resume", "fresh", "--out", at("distilled")]) },
      { name: "dataset", inputs: [at("distilled", "trajectories.jsonl"), ...guard], run: () => line(["dataset", "build", at("distilled", "trajectories.jsonl"), ...guard, "--tokenizer", live, "--out", at("dataset")]) },
      { name: "train", inputs: [at("dataset", "examples.jsonl")], run: () => line(["train", "sft", at("dataset"), "--model", live, ...(values.steps === undefined ? [] : ["--steps", String(values.steps)]), "--out", at("sft"), "--resume", "fresh"]) },
      ...(["exam", "fresh"] as const).flatMap((part) => (["live", "candidate"] as const).map((who) => ({
        name: `${part} of ${who}`,
        inputs: [part === "exam" ? exam : at("fresh.jsonl"), ...(who === "candidate" ? [join(candidate, "model.safetensors")] : [])],
        run: () => line([...score(part === "exam" ? exam : at("fresh.jsonl"), who === "live" ? live : candidate, `${part}-${who}`), "--resume", "fresh"]),
      }))),
    ]; // biome-ignore format: one step a line
    if (!existsSync(at("tasks.jsonl"))) await gather(kept, runs, root, seen, round);
    if ((await readAllJsonl(at("tasks.jsonl"), taskSchema)).length === 0) {
      await rm(at("tasks.jsonl")); // what production leaves later is gathered then
      out.print("nothing to learn from: no question since the last round went to the old system with a recorded run");
      return 1;
    }
    await runSteps(round, steps, { signal, onStart: (step, { number: place, of, done }) => out.note(`${place} of ${of}: ${step.name}${done ? ", done before" : ""}`) }); // biome-ignore format: one note
    const { grader } = await openGrader(settings, session, await readAllJsonl(exam, taskSchema));
    const evaluation = (name: string) => readEvaluation(join(root, "evals", `round-${number}-${name}`));
    const usage = meanUsage(await readAllJsonl(runs, teamRunSchema));
    const fit = async (who: "live" | "candidate", folder: string): Promise<FitResult> => {
      const { pairs } = await readPairs(await evaluation(`fresh-${who}`), { kind: "served", usage }, grader);
      return fitCascade(pairs, {
        ...promise,
        basis: "agreement",
        model: await modelFingerprint(folder),
        temperature: 0,
      });
    };
    const fits = { live: await fit("live", live), candidate: await fit("candidate", candidate) };
    const right = async (who: string) => new Map((await evaluation(`exam-${who}`)).records.map(({ taskId, grade }) => [taskId, grade.correct === true])); // biome-ignore format: one map
    const [before, after] = [await right("live"), await right("candidate")];
    const shared = [...before.keys()].filter((id) => after.has(id));
    const decision = decideRound({
      exam: { live: shared.map((id) => before.get(id)!), candidate: shared.map((id) => after.get(id)!) },
      margin: settings.improve.margin,
      ...fits,
    });
    if (fits.candidate.cascade) await writeCascade(candidate, fits.candidate.cascade);
    const { counts } = (await readJsonIfThere(at("counts.json"))) as Pick<Leftovers, "counts">;
    const learned = (await readAllJsonl(at("distilled", "trajectories.jsonl"))).length;
    const facts = { number, basis: "agreement with the old system", counts, learned, seconds: (Date.now() - started) / 1000 }; // biome-ignore format: one line
    await writeFile(at("round.html"), roundHtml(facts, decision, fits));
    if (decision.promote) await recordAct(root, { act: "promote", folder: resolve(candidate), why: `round ${number}` });
    await writeJson(at("decision.json"), decision);
    const fitted = fits.candidate.cascade;
    if (values.json)
      out.json({ round: number, ...decision, escalated: fitted?.figures.all.escalated, report: at("round.html") }); // biome-ignore format: one result
    else out.print(roundText(number, decision, fitted && cascadeSentence(fitted), relative(".", at("round.html"))));
    return decision.promote ? 0 : 1;
  },
});

function roundText(
  number: number,
  { promote, reasons, exam }: Decision,
  sentence: string | undefined,
  page: string,
): string {
  // biome-ignore format: one signature
  return [
    `round ${number}: ${promote ? "promoted" : `not promoted: ${reasons.join("; ")}`}`,
    `exam of ${exam.tasks} tasks: ${(100 * exam.live).toFixed(1)} -> ${(100 * exam.candidate).toFixed(1)} %`,
    ...(sentence === undefined ? [] : [`${sentence} (agreement with the old system)`]),
    `page: ${page}`,
  ].join("\n");
}

/** The first round without a decision, the requests that earlier rounds used, and what they taught. */
async function nextRound(folder: string): Promise<{ number: number; seen: Set<string>; earlier: string[] }> {
  const numbers = (await readdir(folder).catch(() => [])).map(Number).filter(Number.isInteger).sort((a, b) => a - b); // biome-ignore format: one line
  const done = numbers.filter((one) => existsSync(join(folder, String(one), "decision.json")));
  const seen = new Set<string>();
  const earlier: string[] = [];
  for (const one of done) {
    for (const file of ["tasks.jsonl", "fresh.jsonl"]) for (const { id } of await readAllJsonl<Task>(join(folder, String(one), file))) seen.add(id); // biome-ignore format: one line
    const decision = (await readJsonIfThere(join(folder, String(one), "decision.json"))) as Decision;
    if (decision.promote) earlier.push(join(folder, String(one), "distilled", "trajectories.jsonl"));
  }
  return { number: (done.at(-1) ?? 0) + 1, seen, earlier };
}

async function gather(
  kept: string,
  runs: string,
  root: string,
  seen: ReadonlySet<string>,
  round: string,
): Promise<void> {
  const audited = await readAllJsonl(join(root, "switch", "audit.jsonl"), auditedSchema);
  const left = gatherLeftovers(await readAllJsonl(kept, trajectorySchema), audited, await readAllJsonl(runs, teamRunSchema), seen); // biome-ignore format: one call
  const lines = (items: readonly unknown[]) => items.map((item) => `${JSON.stringify(item)}\n`).join("");
  await writeFileAtomically(join(round, "runs.jsonl"), lines(left.runs));
  await writeFileAtomically(join(round, "fresh.jsonl"), lines(left.fresh));
  await writeJson(join(round, "counts.json"), { counts: left.counts });
  await writeFileAtomically(join(round, "tasks.jsonl"), lines(left.tasks));
}

function meanUsage(runs: readonly TeamRun[]): Usage {
  const sum = runs.map(({ usage }) => usage).reduce(addUsage, emptyUsage());
  return Object.fromEntries(Object.entries(sum).map(([key, value]) => [key, value / Math.max(1, runs.length)])) as unknown as Usage; // biome-ignore format: one line
}
