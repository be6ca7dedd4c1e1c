/**
 * The work of `coa up` as a list of commands: it prints what it runs, and each command can be typed by hand. A step
 * names the files that decide its result, so that a later run knows what is done, what continues and what is stale.
 */
import { join } from "node:path";
import type { UpInput } from "./look-at-input.ts";

/** One command of the plan. */
export interface UpStep {
  name: string;
  /** What it does, in a few words. */
  what: string;
  /** What is typed after `coa`. */
  args: readonly string[];
  /** Files and folders whose content decides the result. */
  inputs: readonly string[];
  /** Files that it leaves; without them it is not done. */
  outputs?: readonly string[];
  /** Work of other inputs in its folder is deleted with `--resume fresh`. */
  claims?: boolean;
}

/** The student: a new small model, a folder with a real one, or one on a Tinker server. */
export type Student =
  | { kind: "scratch"; hidden: number; layers: number; heads: number; vocabulary: number; context: number }
  | { kind: "folder"; folder: string; rank: number }
  | { kind: "server"; folder: string; rank: number; flags: readonly string[]; weightsHere: boolean };

export interface UpChoices {
  /** Where everything goes. */
  folder: string;
  student: Student;
  /** Questions to write, from documents. */
  questions: number;
  /** Share of the tasks that training never sees. */
  heldOut: number;
  /** Tasks with their answers, where the user has them. */
  tasks?: string;
  /** Flags of the model that plays the team: --model, --base-url, --role. */
  players: readonly string[];
  /** --price, --max-usd. */
  spending: readonly string[];
  /** --tool, --mcp, --tools. */
  tools: readonly string[];
  /** --judge-model, --judge-url. */
  judge: readonly string[];
  assumeRight: boolean;
  steps?: number;
  /** There were too few tasks to set some aside: measure on those that it is trained on, and say so. */
  measureOnTraining?: boolean;
}

/** The steps from this input to a compared model. */
export function planUp(input: UpInput, choices: UpChoices): UpStep[] {
  const at = (...parts: string[]) => join(choices.folder, ...parts);
  const tasks = choices.tasks !== undefined && input.kind === "documents" ? choices.tasks : at("tasks.jsonl");
  const runs = at("runs.jsonl");
  const begin =
    input.kind === "documents"
      ? fromDocuments(input.path, tasks, runs, choices)
      : fromTraces(input.path, tasks, runs, choices);
  return [...begin, ...learn(tasks, runs, choices, input.kind === "traces"), ...measure(input, runs, choices)];
}

function fromDocuments(path: string, tasks: string, runs: string, choices: UpChoices): UpStep[] {
  const { players, spending, questions, folder } = choices;
  const ledger = ["--set", `spending.ledger=${join(folder, "spending.jsonl")}`, ...spending];
  const writing: UpStep = {
    name: "tasks",
    what: "the model writes questions about them; each is checked against the text",
    args: ["tasks", "generate", path, ...players, ...ledger, "--count", String(questions), "--out", tasks],
    inputs: [path],
    outputs: [tasks],
  };
  return [
    { name: "index", what: "make the documents searchable", args: ["index", "build", path], inputs: [path] },
    ...(choices.tasks === undefined ? [writing] : []),
    {
      name: "team",
      what: "a team of agents answers the questions with the documents, and is recorded",
      args: ["team", "run", tasks, ...documentTools(path, choices), ...players, ...ledger, "--out", runs],
      inputs: [tasks, path],
      outputs: [runs],
    },
  ];
}

function documentTools(path: string, { tools }: UpChoices): string[] {
  return ["--docs", path, ...(tools.length > 0 ? tools : ["--tools", "web_search,crawl_page"])];
}

function fromTraces(path: string, tasks: string, runs: string, choices: UpChoices): UpStep[] {
  const { judge, spending, assumeRight, folder } = choices;
  const given = choices.tasks === undefined ? [] : ["--tasks", choices.tasks];
  const ledger = judge.length > 0 ? ["--set", `spending.ledger=${join(folder, "spending.jsonl")}`, ...spending] : [];
  const assumed = assumeRight ? ["--assume-right"] : [];
  return [
    {
      name: "import",
      what: "read the traces",
      args: ["record", "import", path, "--out", runs, "--replace"],
      inputs: [path],
      outputs: [runs],
    },
    {
      name: "tasks",
      what: "find out which answers are right, and how that is known",
      args: ["tasks", "recorded", runs, ...given, ...judge, ...ledger, ...assumed, "--out", tasks],
      inputs: [runs, ...(choices.tasks === undefined ? [] : [choices.tasks])],
      outputs: [tasks, join(folder, "tasks.unsolved.jsonl")],
    },
  ];
}

/** From recorded runs to a trained model. */
function learn(tasks: string, runs: string, choices: UpChoices, traces: boolean): UpStep[] {
  const { folder, student, heldOut, assumeRight } = choices;
  const unsolved = traces ? ["--tasks", join(folder, "tasks.unsolved.jsonl")] : [];
  const at = (...parts: string[]) => join(folder, ...parts);
  const [chains, dataset] = [at("distilled", "trajectories.jsonl"), at("dataset")];
  const split = at(`${nameOf(tasks)}.test.jsonl`);
  const scratch = student.kind === "scratch";
  return [
    {
      name: "split",
      what: "set questions aside that training never sees",
      args: ["dataset", "split", tasks, "--validation", "0", "--test", String(heldOut), "--out", folder],
      inputs: [tasks],
      outputs: [split],
    },
    {
      name: "distill",
      what: "turn right runs into chains that one model can write",
      args: [
        ...["distill", "run", runs, "--tasks", tasks, ...unsolved, "--eval", split],
        ...["--set", "distill.keepWithoutReflection=1", "--set", "distill.minInteractions=1"],
        ...(scratch ? ["--bare", "--set", "distill.layout=compact"] : []),
        ...(assumeRight ? ["--assume-right"] : []),
        ...["--out", at("distilled")],
      ],
      inputs: [runs, tasks, split],
      outputs: [chains],
      claims: true,
    },
    {
      name: "dataset",
      what: "turn chains into token ids with an exact loss mask",
      args: [
        ...["dataset", "build", chains],
        ...(scratch
          ? ["--vocabulary", String(student.vocabulary), "--max-tokens", String(student.context)]
          : ["--tokenizer", student.folder]),
        ...["--out", dataset],
      ],
      inputs: [chains],
      outputs: [join(dataset, "dataset.json")],
    },
    ...(scratch ? [newStudent(at("student"), join(dataset, "tokenizer"), student)] : []),
    {
      name: "train",
      what: scratch ? "teach it the chains" : "teach the model the chains, as an adapter",
      args: ["train", "sft", dataset, ...trainFlags(at("student"), choices), "--out", at("sft")],
      inputs: [
        join(dataset, "examples.jsonl"),
        ...(scratch ? [at("student", "config.json")] : [join(student.folder, "config.json")]),
      ],
      claims: true,
    },
  ];
}

function newStudent(folder: string, tokenizer: string, student: Extract<Student, { kind: "scratch" }>): UpStep {
  const { hidden, layers, heads, context } = student;
  const size = [
    "--hidden",
    String(hidden),
    "--layers",
    String(layers),
    "--heads",
    String(heads),
    "--context",
    String(context),
  ];
  return {
    name: "student",
    what: "make a small model; it learns this workspace's format and not language",
    args: ["model", "new", folder, "--tokenizer", tokenizer, ...size, "--set", "newModel.copyInit", "--replace"],
    inputs: [join(tokenizer, "tokenizer.json")],
    outputs: [join(folder, "config.json")],
  };
}

/** Updates that a new small model needs: it must see each chain many times, and has seen nothing before. */
export function scratchSteps(chains: number): number {
  return Math.min(4000, Math.max(400, 6 * chains));
}

function trainFlags(folder: string, { student, steps, questions }: UpChoices): string[] {
  if (student.kind === "scratch") {
    const updates = String(steps ?? scratchSteps(questions));
    const set = ["train.batchTokens=2048", "train.heldOut=0"].flatMap((setting) => ["--set", setting]);
    return ["--model", folder, "--steps", updates, ...set];
  }
  const length = steps === undefined ? ["--epochs", "3"] : ["--steps", String(steps)];
  const flags = student.kind === "server" ? student.flags : [];
  return ["--model", student.folder, "--lora", String(student.rank), ...flags, ...length];
}

/** The team as it was recorded and the model, on the same held-out tasks. */
function measure(input: UpInput, runs: string, choices: UpChoices): UpStep[] {
  const { folder, student, tools } = choices;
  const at = (...parts: string[]) => join(folder, ...parts);
  const side = choices.measureOnTraining ? "train" : "test";
  const stem = nameOf(choices.tasks !== undefined && input.kind === "documents" ? choices.tasks : "tasks.jsonl");
  const tasks = at(`${stem}.${side}.jsonl`);
  const title = `${input.name}: ${choices.measureOnTraining ? "questions it was trained on" : "questions that training never saw"}`;
  const model = at("sft", "model");
  const given =
    input.kind === "documents"
      ? documentTools(input.path, choices)
      : tools.length > 0
        ? [...tools]
        : ["--recorded", runs];
  const limits =
    student.kind === "scratch" ? ["--set", "limits.maxSteps=16", "--max-tokens", String(student.context)] : [];
  const names = { team: `${input.name}-team`, model: `${input.name}-model` };
  const steps: UpStep[] = [
    {
      name: "team's score",
      what: "grade the recorded team on the questions set aside; nothing is run again",
      args: ["eval", "run", tasks, "--system", "recorded", "--runs", runs, "--name", names.team],
      inputs: [tasks, runs],
      claims: true,
    },
    {
      name: "model's score",
      what:
        input.kind === "traces" && tools.length === 0
          ? "the same questions for the model, with tools replayed from the recording"
          : "the same questions for the model, with live tools",
      args: ["eval", "run", tasks, "--model", model, ...given, ...limits, "--name", names.model],
      inputs: [tasks, join(model, "model.safetensors"), input.path],
      claims: true,
    },
    {
      name: "report",
      what: "compare the two",
      args: ["eval", "compare", names.team, names.model, "--title", title, "--html", at("report.html")],
      inputs: [tasks, runs, join(model, "model.safetensors")],
      outputs: [at("report.html")],
    },
  ];
  // An adapter without the weights it belongs to can't be run here.
  return student.kind === "server" && !student.weightsHere ? steps.slice(0, 1) : steps;
}

function nameOf(file: string): string {
  return file
    .split(/[\\/]/)
    .at(-1)!
    .replace(/\.jsonl$/, "");
}

/** A command as it would be typed: words with spaces or quotes in them are quoted. */
export function typed(args: readonly string[]): string {
  return ["coa", ...args]
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}
