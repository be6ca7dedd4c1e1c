/**
 * The table of commands. Each entry loads its file only when it is called, so that `coa --help` and every command start
 * fast. A command of a group is written with a space: `dataset build`.
 */
import type { CommandTable } from "../command.ts";

/** Name, summary for the overview, and how to load it. */
export const commands: CommandTable = {
  quickstart: {
    summary: "Run every stage on this machine: team, distillation, SFT, RL, comparison",
    load: () => import("./quickstart.ts"),
  },
  up: {
    summary: "Make a model from your documents or traces, in one resumable command",
    load: () => import("./up.ts"),
  },
  init: { summary: "Start a project in this folder: workspace, configuration, .env", load: () => import("./init.ts") },
  show: {
    summary: "Show anything: runs, chains, datasets, trainings, evaluations, models; alone, the workspace",
    load: () => import("./show.ts"),
  },
  clean: {
    summary: "Delete checkpoints of finished trainings, caches, expired responses",
    load: () => import("./clean.ts"),
  },
  ask: { summary: "Answer a question: one model plays the whole team", load: () => import("./ask.ts") },
  serve: { summary: "Serve a model with its tools behind the APIs that people use", load: () => import("./serve.ts") },
  "serve tools": { summary: "Serve tools over HTTP", load: () => import("./serve-tools.ts") },
  "serve rewards": {
    summary: "Serve rewards over HTTP, as verl, TRL and slime call them",
    load: () => import("./serve-rewards.ts"),
  },
  "serve rollouts": {
    summary: "Run chains for another trainer: ids, mask, log-probabilities and reward",
    load: () => import("./serve-rollouts.ts"),
  },
  studio: { summary: "Look at runs, chains, training and evaluations in a browser", load: () => import("./studio.ts") },
  doctor: { summary: "Say what works on this machine and what is missing", load: () => import("./doctor.ts") },
  "dataset build": {
    summary: "Turn trajectories into a dataset with an exact loss mask",
    load: () => import("./dataset-build.ts"),
  },
  "dataset split": {
    summary: "Split a file by task into train, validation, test",
    load: () => import("./dataset-split.ts"),
  },
  "dataset import": {
    summary: "Read published chains (instruction, input, output) into trajectories",
    load: () => import("./dataset-import.ts"),
  },
  "dataset export": {
    summary: "Write files for LLaMA-Factory, verl, TRL, OpenAI",
    load: () => import("./dataset-export.ts"),
  },
  "lab tasks": {
    summary: "Write tasks about a made-up world, or the world itself",
    load: () => import("./lab-tasks.ts"),
  },
  "model pull": {
    summary: "Bring a model folder from Hugging Face or another hub",
    load: () => import("./model-pull.ts"),
  },
  "model new": { summary: "Make a new model with random weights", load: () => import("./model-new.ts") },
  "model convert": {
    summary: "Copy a model into another format, or merge an adapter",
    load: () => import("./model-convert.ts"),
  },
  "team run": { summary: "Run a multi-agent team on tasks and record it", load: () => import("./team-run.ts") },
  "tasks generate": { summary: "Write tasks from your own documents", load: () => import("./tasks-generate.ts") },
  "tasks recorded": {
    summary: "Write the questions of recorded runs as tasks, and how their answers are known to be right",
    load: () => import("./tasks-recorded.ts"),
  },
  "distill run": { summary: "Turn team runs into chains worth learning from", load: () => import("./distill-run.ts") },
  tools: { summary: "List the tools of a chain and what each needs, or call one", load: () => import("./tools.ts") },
  "index build": {
    summary: "Build a search index from JSONL or a folder of documents",
    load: () => import("./index-build.ts"),
  },
  "serve trainer": {
    summary: "Serve this machine's engine as a Tinker server",
    load: () => import("./serve-trainer.ts"),
  },
  "train sft": { summary: "Teach a model the chains of a dataset", load: () => import("./train-sft.ts") },
  "train rl": { summary: "Reinforce what worked, with live tools (DAPO)", load: () => import("./train-rl.ts") },
  "train opd": { summary: "Distill a teacher into what the model itself writes", load: () => import("./train-opd.ts") },
  worker: { summary: "Run rollouts of a training run on another machine", load: () => import("./worker.ts") },
  grade: { summary: "Grade answers given as JSONL", load: () => import("./grade.ts") },
  "eval run": { summary: "Run a system on tasks and grade it", load: () => import("./eval-run.ts") },
  "eval compare": { summary: "Compare systems: table and HTML report", load: () => import("./eval-compare.ts") },
  "record proxy": {
    summary: "Record, replay or limit the model calls of any app",
    load: () => import("./record-proxy.ts"),
  },
  "record run": { summary: "Run a Node program with the recorder in it", load: () => import("./record-run.ts") },
  "record collect": {
    summary: "Collect traces: OTLP, LangSmith, OpenAI Agents",
    load: () => import("./record-collect.ts"),
  },
  "record import": {
    summary: "Turn recordings, or files of other systems, into team runs",
    load: () => import("./record-import.ts"),
  },
  "tasks select": {
    summary: "Keep tasks that need tools and can be solved with them, or that RL can learn from",
    load: () => import("./tasks-select.ts"),
  },
};
