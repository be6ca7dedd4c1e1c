/**
 * The commands by stage, in the order that data moves, with the line that the overview shows. A command of a group is
 * written with a space: `dataset build` is in `dataset-build.ts`, which is loaded when the command is called, so that
 * `coa --help` and every command start fast.
 */
import type { Command, CommandTable } from "../command.ts";

export const stages: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Start: {
    quickstart: "Run every stage on this machine: team, distillation, SFT, RL, comparison",
    up: "Make a model from your documents or traces, in one resumable command",
    init: "Start a project in this folder: workspace, configuration, .env",
    show: "Show anything: runs, chains, datasets, trainings, evaluations, models; alone, the workspace",
    doctor: "Check what works on this machine and what is missing",
    clean: "Delete checkpoints of finished trainings, caches, expired responses",
    grade: "Grade answers given as JSONL",
  },
  "Record what you have": {
    "record proxy": "Record, replay or limit the model calls of any app",
    "record run": "Run a program (Node, Python, any other) with the recorder in it",
    "record collect": "Collect traces: OTLP, LangSmith, OpenAI Agents",
    "record import": "Turn recordings, or files of other systems, into team runs",
  },
  "Make runs": {
    "tasks generate": "Write tasks from your own documents",
    "tasks recorded": "Write the questions of recorded runs as tasks, and how their answers are known to be right",
    "tasks select": "Keep tasks that need tools and can be solved with them, or that RL can learn from",
    "team run": "Run a multi-agent team on tasks and record it",
  },
  "Turn runs into data": {
    "distill run": "Turn team runs into chains worth learning from",
    "dataset build": "Turn trajectories into a dataset with an exact loss mask",
    "dataset split": "Split a file by task into train, validation, test",
    "dataset import": "Read published chains (instruction, input, output) into trajectories",
    "dataset export": "Write files for LLaMA-Factory, verl, TRL, OpenAI",
  },
  Train: {
    "model pull": "Bring a model folder from Hugging Face or another hub",
    "model new": "Make a new model with random weights",
    "model convert": "Copy a model into another format, or merge an adapter",
    "train sft": "Teach a model the chains of a dataset",
    "train rl": "Reinforce what worked, with live tools (DAPO)",
    "train opd": "Distill a teacher into what the model itself writes",
    worker: "Run rollouts of a training run on another machine",
  },
  Measure: {
    "eval run": "Run a system on tasks and grade it",
    "eval compare": "Compare systems: table and HTML report",
    "cascade fit": "Learn when the model may answer instead of the team, with a promise on the loss",
  },
  Use: {
    ask: "Answer a question: one model plays the whole team",
    serve: "Serve a model and its tools over OpenAI- and Anthropic-compatible APIs",
    "serve tools": "Serve tools over HTTP",
    "serve rewards": "Serve rewards over HTTP, as verl, TRL and slime call them",
    "serve rollouts": "Run chains for another trainer: ids, mask, log-probabilities and reward",
    "serve trainer": "Serve this machine's engine as a Tinker server",
    promote: "Make a model live, or a canary; alone, list the models and their status",
    improve: "Learn from what the old system had to answer, and promote what is not worse and cheaper",
    rollback: "Withdraw the canary, or go back to the model before",
    studio: "Look at runs, chains, training and evaluations in a browser",
  },
  "Tools, documents, the lab": {
    tools: "List the tools of a chain and what each needs, or call one",
    "index build": "Build a search index from JSONL or a folder of documents",
    "lab tasks": "Write tasks about a made-up world, or the world itself",
  },
};

/** Every command: its summary, and how to load it. */
export const commands: CommandTable = Object.fromEntries(
  Object.values(stages)
    .flatMap((stage) => Object.entries(stage))
    .map(([name, summary]) => [name, { summary, load: () => loadCommand(name) }]),
);

async function loadCommand(name: string): Promise<{ default: Command }> {
  return (await import(`./${name.replace(" ", "-")}.ts`)) as { default: Command };
}
