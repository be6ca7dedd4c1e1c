import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { writeJson } from "../../base/files/write-file.ts";
import { UsageError } from "../../core/errors.ts";
import type { Profile } from "../../core/profile.ts";
import { distill } from "../../distill/distill.ts";
import { reportText } from "../../report/distill-text.ts";
import { chooseProfile } from "../choose-profile.ts";
import { defineCommand, missingArgument, numberOf } from "../command.ts";
import { choiceOf } from "../flag-values.ts";
import { openFile, openFlag } from "../open-file.ts";
import { existingFiles } from "./dataset-input.ts";
import { buildDistilled, datasetOptions, datasetText } from "./distill-dataset.ts";
import { askAssumeRight, distillInputs, profileOf } from "./distill-inputs.ts";
import { choosePlugins, readQuestions } from "./distill-options.ts";
import { judgeFlags } from "./eval-grading.ts";

const examples = [
  "coa distill run traces/ --tasks tasks.jsonl --out .coa/distilled/mine --dataset .coa/datasets/mine --tokenizer ./Qwen2.5-3B",
  "coa distill run traces/ --tasks tasks.jsonl --out .coa/distilled/mine",
  "coa distill run runs.jsonl --tasks tasks.jsonl --profile web --out .coa/distilled/web",
  "coa distill run runs.jsonl --tasks tasks.jsonl --profile lab --bare --min-interactions 4 --out .coa/distilled/lab",
  "coa distill run chains.jsonl --tasks tasks.jsonl --eval gaia.jsonl --filter ./my-filters.ts --out .coa/distilled/again",
];

export default defineCommand({
  name: "distill run",
  summary:
    "Turn team runs (or chains) into chains worth learning from: convert, filter, sample, report. Resumes by itself.",
  arguments: "<runs.jsonl, traces or folders…>",
  examples,
  options: {
    out: { type: "string", valueName: "folder", describe: "Where the result goes" },
    tasks: { type: "string", multiple: true, valueName: "file", describe: "Tasks with their answers, to grade by" },
    profile: {
      type: "string",
      describe: "web, mhqa, code, multi, wide, lab, lab-wide, or a file (default: made from the recording)",
    },
    bare: { type: "boolean", default: false, describe: "No system prompt: the bare question" },
    layout: { type: "string", describe: "White space around observations: compact, or paper (default: the profile's)" },
    fill: {
      type: "boolean",
      default: false,
      describe:
        "Fill up thoughts and checks that the profile wants and the recording missingArgument (never trained on)",
    },
    "tool-tag": { type: "string", multiple: true, valueName: "tool=tag", describe: "Tag for a foreign tool's name" },
    "min-interactions": {
      type: "string",
      valueName: "n",
      describe: "Fewest interactions of a chain (default 5; 2 with a profile made from the recording)",
    },
    "keep-without-reflection": {
      type: "string",
      default: "0.5",
      valueName: "share",
      describe: "Share of chains without reflection that stay",
    },
    copies: {
      type: "string",
      default: "2",
      valueName: "n",
      describe: "How often chains that correct themselves are written",
    },
    "near-duplicates": {
      type: "string",
      default: "0.95",
      valueName: "share",
      describe: "Likeness above which a chain is a duplicate",
    },
    balance: { type: "string", valueName: "ratio", describe: "Largest family, in sizes of the median one" },
    "max-tokens": { type: "string", valueName: "n", describe: "Longest chain" },
    eval: { type: "string", multiple: true, valueName: "file", describe: "Evaluation questions that must not leak" },
    "block-url": { type: "string", multiple: true, valueName: "url", describe: "Address that must not be touched" },
    "assume-right": {
      type: "boolean",
      default: false,
      describe: "Keep chains that can't be graded; reports call them assumed",
    },
    skip: { type: "string", multiple: true, valueName: "stage", describe: "Leave a stage out" },
    filter: { type: "string", multiple: true, valueName: "module", describe: "Filters of your own (TypeScript)" },
    ...judgeFlags,
    check: { type: "string", valueName: "model", describe: "Model that checks compliance" },
    rewrite: { type: "string", valueName: "model", describe: "Model that makes thoughts fluent" },
    "base-url": { type: "string", valueName: "url", describe: "Server of these models (default OPENAI_BASE_URL)" },
    tokenizer: { type: "string", valueName: "folder", describe: "Count tokens exactly (otherwise estimated)" },
    ...datasetOptions,
    workers: { type: "string", valueName: "n", describe: "Worker threads (default: cores - 1)" },
    seed: { type: "string", default: "0", valueName: "n", describe: "Seed of all sampling" },
    open: openFlag,
    resume: {
      type: "string",
      default: "auto",
      describe: "What the folder holds already: auto (continue it), never, fresh",
    },
  },
  async run({ values, positionals, out, signal }) {
    if (positionals.length === 0) throw missingArgument(this, "team runs");
    if (!values.out) throw new UsageError("say where the result goes with --out <folder>");
    if (values.dataset !== undefined && values.tokenizer === undefined && values.vocabulary === undefined) {
      throw new UsageError("--dataset needs the model's tokenizer: --tokenizer <folder>, or --vocabulary <size>");
    }
    const tasksFiles = await existingFiles(values.tasks ?? []);
    await existingFiles([...positionals, ...(values.filter ?? [])]);
    const { files, unreadable } = await distillInputs(positionals, `${values.out}-imported.jsonl`);
    for (const { file, reason } of unreadable) out.note(`not a trace: ${file}: ${reason}`);
    const found = values.profile === undefined ? await profileOf(files) : undefined;
    const profile = withLayout(found?.profile ?? (await chooseProfile(values.profile!)), values.layout);
    if (found?.derived) out.note(`profile made from the recording: ${profile.tags.map((tag) => tag.name).join(", ")}`);
    // Chains of ours may carry a reward; recordings carry nothing to grade by.
    const ask =
      found?.derived && tasksFiles.length === 0 && !values["assume-right"] && process.stdin.isTTY && out.isTTY;
    const assumeRight = values["assume-right"] || (ask && (await askAssumeRight()));
    const { plugins, close } = await choosePlugins(values, profile, tasksFiles);
    const filters = (values.filter ?? []).map((file) => pathToFileURL(resolve(file)).href);
    const standard = new URL(
      import.meta.url.endsWith(".ts") ? "./distill-plugins.ts" : "./distill-plugins.js",
      import.meta.url,
    );
    try {
      const report = await distill({
        inputs: files,
        out: values.out,
        tasksFiles,
        modules: plugins ? filters : [standard.href, ...filters],
        plugins,
        workers: plugins ? 0 : numberOf(values.workers, "workers", { min: 0, integer: true }),
        resume: choiceOf(values.resume, "resume", ["auto", "never", "fresh"]),
        signal,
        onProgress: out.progress,
        config: {
          profile,
          ...(found?.tools && { tools: found.tools }),
          ...(values.bare && { systemPrompt: false as const }),
          fill: values.fill,
          toolTags: readPairs(values["tool-tag"]),
          minInteractions: numberOf(values["min-interactions"] ?? (found?.derived ? "2" : "5"), "min-interactions", {
            min: 0,
          }),
          reflection: {
            keepWithout: numberOf(values["keep-without-reflection"], "keep-without-reflection", { min: 0, max: 1 }),
          },
          correctionCopies: numberOf(values.copies, "copies", { min: 1, integer: true }),
          nearDuplicates: numberOf(values["near-duplicates"], "near-duplicates", { min: 0 }),
          balanceRatio: numberOf(values.balance, "balance", { min: 0 }),
          maxTokens: numberOf(values["max-tokens"], "max-tokens", { min: 1, integer: true }),
          ungraded: assumeRight ? "keep" : "drop",
          contamination: { questions: await readQuestions(values.eval), blockedUrls: values["block-url"] ?? [] },
          skip: values.skip ?? [],
          seed: numberOf(values.seed, "seed", { integer: true }),
        },
      });
      out.endProgress();
      await writeJson(join(values.out, "profile.json"), profile);
      const built = await buildDistilled({
        distilled: values.out,
        dataset: report.written > 0 ? values.dataset : undefined,
        tokenizer: values.tokenizer,
        vocabulary: values.vocabulary,
        validation: values.validation,
        maxTokens: numberOf(values["max-tokens"], "max-tokens", { min: 1, integer: true }),
        seed: numberOf(values.seed, "seed", { integer: true }),
        unreadable,
        signal,
        onProgress: out.progress,
      });
      out.endProgress();
      if (values.json) out.json({ ...report, unreadable, ...built });
      else {
        out.print(reportText(report));
        if (values.dataset !== undefined) for (const line of datasetText(built)) out.print(line);
        const chains = join(values.out, "trajectories.jsonl");
        out.print(`\n${chains}\n${join(values.out, "report.html")}`);
        if (built.datasets.length > 0) out.note(`next: coa train sft ${values.dataset} --model <folder>`);
        else if (report.written > 0)
          out.note(`next: coa dataset build ${chains} --tokenizer <model folder> --out .coa/dataset`);
      }
      const ungraded = report.stages.find(({ name }) => name === "correctness")?.reasons["nothing to grade by"] ?? 0;
      if (ungraded > 0)
        out.note(`${ungraded} runs had nothing to grade by: give --tasks <file>, or --assume-right to keep them`);
      if (values.open) await openFile(join(values.out, "report.html"), out.note);
      return report.written > 0 ? 0 : 1;
    } finally {
      await close();
    }
  },
});

function readPairs(pairs: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [tool, tag] = pair.split("=");
      if (!tool || !tag) throw new UsageError(`--tool-tag takes tool=tag, not "${pair}"`);
      return [tool, tag];
    }),
  );
}

function withLayout(profile: Profile, wanted: string | undefined): Profile {
  if (wanted === undefined) return profile;
  const layout = choiceOf(wanted, "layout", ["compact", "paper"]);
  return { ...profile, style: { ...profile.style, layout } };
}
