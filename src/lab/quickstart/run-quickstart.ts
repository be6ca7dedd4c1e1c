/**
 * All stages on one machine, as a library call: a team works in a made-up web, its runs become chains, a small model
 * learns them, practises with live tools, and is compared with the team. `coa quickstart` and the recipe both call
 * this.
 */
import { join } from "node:path";
import { claimFolder, type Resume } from "../../base/files/claim-folder.ts";
import { makeFolder } from "../../base/files/make-folder.ts";
import { openJsonl } from "../../base/files/open-jsonl.ts";
import { readJsonl } from "../../base/files/read-jsonl.ts";
import { runSteps } from "../../base/files/resumable-steps.ts";
import type { OnProgress } from "../../core/events.ts";
import type { Task } from "../../core/task.ts";
import type { TeamRun } from "../../core/team-run.ts";
import { type Trajectory, trajectoryText } from "../../core/trajectory.ts";
import { distill } from "../../distill/distill.ts";
import { taskGrader } from "../../graders/grade-task.ts";
import { labRuns } from "../lab-runs.ts";
import { labProfile } from "../profile.ts";
import { evaluateStage, readTable, reportStage } from "./evaluate-stage.ts";
import { rlStage } from "./rl-stage.ts";
import { type QuickstartSettings, quickstartSizes } from "./settings.ts";
import { sftStage } from "./sft-stage.ts";
import { oneLine, type QuickstartContext, type Stage, type StageEvent, type StageFigures } from "./stage.ts";

export interface QuickstartOptions {
  /** Everything is kept here; an unfinished quickstart is resumed. */
  folder: string;
  size?: "fast" | "default" | "full";
  /** Other settings than those of the size. @internal */
  settings?: QuickstartSettings;
  seed?: number;
  /** Share of the team's runs that go wrong, unfiltered: to see what RL repairs. */
  imperfect?: number;
  /** `auto` resumes, `never` refuses a folder with an earlier quickstart, `fresh` deletes it first. */
  resume?: Resume;
  onProgress?: OnProgress;
  /** @internal */
  onStage?: (event: StageEvent) => void;
  signal?: AbortSignal;
}

export interface QuickstartResult {
  folder: string;
  /** @internal */
  stages: Record<string, StageFigures>;
  table: string;
  /** The HTML report and the trained model. */
  report: string;
  model: string;
}

/** Runs, or resumes, all stages. */
export async function runQuickstart(options: QuickstartOptions): Promise<QuickstartResult> {
  const { folder, size = "default", seed = 1, imperfect = 0, resume = "auto" } = options;
  const { settings = quickstartSizes[size] } = options;
  const claimed = await claimFolder(
    folder,
    { kind: "quickstart", configuration: { settings, seed, imperfect } },
    { resume },
  );
  try {
    const context: QuickstartContext = {
      ...{ folder, seed, settings, imperfect },
      onProgress: options.onProgress ?? (() => {}),
      signal: options.signal ?? new AbortController().signal,
    };
    const steps = [teamStage, distillStage, sftStage, rlStage, evaluateStage, reportStage].map((stage) => ({
      ...stage,
      async run() {
        await makeFolder(join(folder, stage.name));
        return stage.run(context, join(folder, stage.name));
      },
    }));
    const ends = await runSteps(folder, steps, {
      onStart: ({ name, what }, { number, of }) => options.onStage?.({ type: "stage-start", number, of, name, what }),
      onEnd: ({ name }, { result: figures, seconds, resumed }) =>
        options.onStage?.({ type: "stage-end", name, figures, seconds, resumed }),
      signal: context.signal,
    });
    const stages = Object.fromEntries(
      Object.entries(ends).map(([name, { result, seconds }]) => [name, { ...result, seconds }]),
    );
    await claimed.report({ state: "done", done: Object.keys(stages).length });
    return {
      folder,
      stages,
      table: await readTable(folder),
      report: join(folder, "report", "report.html"),
      model: join(folder, "rl", "model"),
    };
  } finally {
    await claimed.release();
  }
}

/** The team's runs become chains of one model, and the filters keep what is worth learning. */
export const distillStage: Stage = {
  name: "distill",
  what: "each recorded run is rewritten as one text in which a single model plays every agent; bad runs are filtered out",
  async run({ folder: run, imperfect, onProgress, signal, seed }, folder) {
    const report = await distill([join(run, "team", "runs.jsonl")], {
      tasksFiles: [join(run, "team", "tasks.jsonl")],
      out: folder,
      config: {
        profile: labProfile,
        systemPrompt: false,
        seed,
        // The lab's short families have one or two calls; the paper's bound of five is for the open web.
        minInteractions: 1,
        // Every chain counts: families and reflections are balanced by the tasks already.
        reflection: { keepWithout: 1 },
        nearDuplicates: 1.1,
        correctionCopies: 1,
        // With an imperfect team its mistakes must stay in the data, so that SFT copies them.
        skip: imperfect > 0 ? ["correctness"] : [],
      },
      plugins: { grade: taskGrader() },
      signal,
      onProgress,
    });
    const dropped = report.stages.flatMap(({ reasons }) => Object.entries(reasons).map(([why, n]) => `${n} ${why}`));
    const first = (await readJsonl<TeamRun>(join(run, "team", "runs.jsonl")).next()).value;
    const chain = (await readJsonl<Trajectory>(join(folder, "trajectories.jsonl")).next()).value;
    return {
      "runs in": report.records,
      "chains kept": report.written,
      line: `${report.written} of ${report.records} runs became chains; dropped: ${dropped.join(", ") || "none"}`,
      example: `before: ${first?.steps.length} model calls of the team, ${first?.usage.billedTokens} tokens\nafter: one text, ${oneLine(trajectoryText(chain?.segments ?? []))}`,
    };
  },
};

/** Worlds of the runs that end wrong: neither SFT nor RL uses them for anything. */
const firstFlawedWorld = 3000;

/** The scripted team solves tasks in training worlds; every run is kept as a TeamRun, and a resumed stage appends only the runs that are missing. */
export const teamStage: Stage = {
  name: "team",
  what: "a team of six scripted agents (no LLM) solves tasks in a made-up web; everything they say and do is recorded",
  async run({ settings, seed, imperfect, onProgress, signal }, folder) {
    const known = new Set<string>();
    for await (const run of readJsonl<TeamRun>(join(folder, "runs.jsonl"))) known.add(run.taskId ?? "");
    const runs = await openJsonl<TeamRun>(join(folder, "runs.jsonl"));
    const tasks = await openJsonl<Task>(join(folder, "tasks.jsonl"));
    let done = 0;
    let right = 0;
    let billed = 0;
    let example = "";
    const options = { seed, imperfect, signal, tasksPerWorld: settings.tasksPerWorld, pages: settings.pages };
    const keep = async (task: Task, run: TeamRun) => {
      done++;
      billed += run.usage.billedTokens;
      const agents = new Set(run.steps.map(({ agentId }) => agentId)).size;
      example ||= `${task.question}\n${agents} agents, ${run.steps.length} model calls, ${run.usage.billedTokens} tokens: ${run.answer}`;
      // The run last: its presence says that the task is there too.
      if (known.has(task.id)) return;
      await tasks.append(task);
      await runs.append(run);
    };
    try {
      for (let world = 0; done < settings.teamTasks; world++) {
        for await (const { task, run } of labRuns(options, world)) {
          if (done >= settings.teamTasks) break;
          if (run.answer === task.answers[0]) right++;
          await keep(task, run);
          if (done % 20 === 0)
            onProgress({
              stage: "team",
              done,
              total: settings.teamTasks,
              figures: { right: `${((100 * right) / done).toFixed(1)} %` },
            });
        }
      }
      // A team without mistakes leaves the filters nothing to do: some runs more, in worlds of their own, end wrong.
      const wrong = imperfect > 0 ? 0 : Math.ceil(settings.teamTasks / 25);
      for (let world = firstFlawedWorld; done < settings.teamTasks + wrong; world++)
        for await (const { task, run } of labRuns({ ...options, imperfect: 1 }, world))
          if (run.answer !== task.answers[0] && done < settings.teamTasks + wrong) await keep(task, run);
    } finally {
      await runs.close();
      await tasks.close();
    }
    const line = `the team answered ${done} questions, ${right} of them right, with ${Math.round(billed / done)} tokens each`;
    return { runs: done, right: right / done, "billed tokens per run": billed / done, line, example };
  },
};
