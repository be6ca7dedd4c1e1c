/**
 * The work of `coa up` as a list of commands: it prints what it runs, and each command can be typed by hand. A step
 * names the files that decide its result, so that a later run knows what is done, what continues and what is stale.
 */
import { basename, join } from "node:path";
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
  const { folder, student, players, spending, judge } = choices;
  const at = (...parts: string[]) => join(folder, ...parts);
  const own = input.kind === "documents" ? choices.tasks : undefined;
  const files = {
    input: input.path,
    tasks: own ?? at("tasks.jsonl"),
    runs: at("runs.jsonl"),
    unsolved: at("tasks.unsolved.jsonl"),
    train: at(`${stemOf(own ?? "tasks.jsonl")}.train.jsonl`),
    test: at(`${stemOf(own ?? "tasks.jsonl")}.test.jsonl`),
    chains: at("distilled", "trajectories.jsonl"),
    dataset: at("dataset"),
    student: student.kind === "scratch" ? at("student") : student.folder,
    model: at("sft", "model"),
    weights: at("sft", "model", "model.safetensors"),
    report: at("report.html"),
  };
  const ledger = words`--set spending.ledger=${at("spending.jsonl")} ${spending}`;
  const steps: (UpStep | false)[] =
    input.kind === "documents"
      ? [
          {
            name: "index",
            what: "make the documents searchable",
            args: words`index build ${files.input}`,
            inputs: [files.input],
          },
          own === undefined && {
            name: "tasks",
            what: "the model writes questions about them; each is checked against the text",
            args: words`tasks generate ${files.input} ${players} ${ledger} --count ${choices.questions} --out ${files.tasks}`,
            inputs: [files.input],
            outputs: [files.tasks],
          },
          {
            name: "team",
            what: "a team of agents answers the questions with the documents, and is recorded",
            args: words`team run ${files.tasks} ${toolFlags(input, files.runs, choices)} ${players} ${ledger} --out ${files.runs}`,
            inputs: [files.tasks, files.input],
            outputs: [files.runs],
          },
        ]
      : [
          {
            name: "import",
            what: "read the traces",
            args: words`record import ${files.input} --out ${files.runs} --replace`,
            inputs: [files.input],
            outputs: [files.runs],
          },
          {
            name: "tasks",
            what: "find out which answers are right, and how that is known",
            args: words`tasks recorded ${files.runs} ${flag("tasks", choices.tasks)} ${judge} ${judge.length > 0 ? ledger : []} ${assumed(choices)} --out ${files.tasks}`,
            inputs: [files.runs, choices.tasks ?? []].flat(),
            outputs: [files.tasks, files.unsolved],
          },
        ];
  return [
    ...steps.filter((step) => step !== false),
    ...learn(input, files, choices),
    ...measure(input, files, choices),
  ];
}

type Files = Record<
  "tasks" | "runs" | "unsolved" | "train" | "test" | "chains" | "dataset" | "student" | "model" | "weights" | "report",
  string
>;

/** From recorded runs to a trained model. */
function learn(input: UpInput, files: Files, choices: UpChoices): UpStep[] {
  const { folder, student, heldOut } = choices;
  const { tasks, runs, test, chains, dataset } = files;
  const scratch = student.kind === "scratch" ? student : undefined;
  const unsolved = flag("tasks", input.kind === "traces" ? files.unsolved : undefined);
  const steps: (UpStep | false)[] = [
    {
      name: "split",
      what: "set questions aside that training never sees",
      args: words`dataset split ${tasks} --validation 0 --test ${heldOut} --out ${folder}`,
      inputs: [tasks],
      outputs: [test],
    },
    {
      name: "distill",
      what: "turn right runs into chains that one model can write",
      args: words`distill run ${runs} --tasks ${tasks} ${unsolved} --eval ${test} --set distill.keepWithoutReflection=1 --set distill.minInteractions=1 ${scratch ? words`--bare --set distill.layout=compact` : []} ${assumed(choices)} --out ${join(folder, "distilled")}`,
      inputs: [runs, tasks, test],
      outputs: [chains],
      claims: true,
    },
    {
      name: "dataset",
      what: "turn chains into token ids with an exact loss mask",
      args: words`dataset build ${chains} ${scratch ? words`--vocabulary ${scratch.vocabulary} --max-tokens ${scratch.context}` : words`--tokenizer ${files.student}`} --out ${dataset}`,
      inputs: [chains],
      outputs: [join(dataset, "dataset.json")],
    },
    scratch !== undefined && {
      name: "student",
      what: "make a small model; it learns this workspace's format and not language",
      args: words`model new ${files.student} --tokenizer ${join(dataset, "tokenizer")} --hidden ${scratch.hidden} --layers ${scratch.layers} --heads ${scratch.heads} --context ${scratch.context} --set newModel.copyInit --replace`,
      inputs: [join(dataset, "tokenizer", "tokenizer.json")],
      outputs: [join(files.student, "config.json")],
    },
    {
      name: "train",
      what: scratch ? "teach it the chains" : "teach the model the chains, as an adapter",
      args: words`train sft ${dataset} --model ${files.student} ${trainFlags(choices)} --out ${join(folder, "sft")}`,
      inputs: [join(dataset, "examples.jsonl"), join(files.student, "config.json")],
      claims: true,
    },
  ];
  return steps.filter((step) => step !== false);
}

/** Updates that a new small model needs: it must see each chain many times, and has seen nothing before. */
export function scratchSteps(chains: number): number {
  return Math.min(4000, Math.max(400, 6 * chains));
}

function trainFlags({ student, steps, questions }: UpChoices): string[] {
  if (student.kind === "scratch")
    return words`--steps ${steps ?? scratchSteps(questions)} --set train.batchTokens=2048 --set train.heldOut=0`;
  const length = steps === undefined ? words`--epochs 3` : words`--steps ${steps}`;
  return words`--lora ${student.rank} ${student.kind === "server" ? student.flags : []} ${length}`;
}

/** The team as it was recorded and the model, on the same held-out tasks. */
function measure(input: UpInput, files: Files, choices: UpChoices): UpStep[] {
  const { student, tools, measureOnTraining } = choices;
  const { runs, model, weights, report } = files;
  const tasks = measureOnTraining ? files.train : files.test;
  const title = `${input.name}: ${measureOnTraining ? "questions it was trained on" : "questions that training never saw"}`;
  const limits = student.kind === "scratch" ? words`--set limits.maxSteps=16 --max-tokens ${student.context}` : [];
  const steps: UpStep[] = [
    {
      name: "team's score",
      what: "grade the recorded team on the questions set aside; nothing is run again",
      args: words`eval run ${tasks} --system recorded --runs ${runs} --name ${input.name}-team`,
      inputs: [tasks, runs],
      claims: true,
    },
    {
      name: "model's score",
      what: `the same questions for the model, with ${input.kind === "traces" && tools.length === 0 ? "tools replayed from the recording" : "live tools"}`,
      args: words`eval run ${tasks} --model ${model} ${toolFlags(input, runs, choices)} ${limits} --name ${input.name}-model`,
      inputs: [tasks, weights, input.path],
      claims: true,
    },
    {
      name: "report",
      what: "compare the two",
      args: words`eval compare ${input.name}-team ${input.name}-model --title ${title} --html ${report}`,
      inputs: [tasks, runs, weights],
      outputs: [report],
    },
  ];
  // An adapter without the weights it belongs to can't be run here.
  return student.kind === "server" && !student.weightsHere ? steps.slice(0, 1) : steps;
}

/** The tools of team and model: the documents', the user's own, or what the recording can replay. */
export function toolFlags(input: UpInput, runs: string, { tools }: Pick<UpChoices, "tools">): string[] {
  if (input.kind === "documents")
    return words`--docs ${input.path} ${tools.length > 0 ? tools : words`--tools web_search,crawl_page`}`;
  return tools.length > 0 ? [...tools] : words`--recorded ${runs}`;
}

const assumed = ({ assumeRight }: UpChoices) => (assumeRight ? ["--assume-right"] : []);
const flag = (name: string, value: string | undefined) => (value === undefined ? [] : [`--${name}`, value]);
const stemOf = (file: string) => basename(file.replaceAll("\\", "/"), ".jsonl");

/** A command line as words: what stands in `${}` is one word, or several where it is a list. */
export function words(texts: TemplateStringsArray, ...values: (string | number | readonly string[])[]): string[] {
  const text = texts.reduce((before, after, index) => `${before}\0${index - 1}\0${after}`);
  return text.split(/\s+/).flatMap((word) => {
    const whole = /^\0(\d+)\0$/.exec(word);
    const value = whole && values[Number(whole[1])];
    if (typeof value === "object" && value !== null) return value;
    return word.replace(/\0(\d+)\0/g, (_, index) => String(values[index]));
  });
}

/** A command as it would be typed: words with spaces or quotes in them are quoted. */
export function typed(args: readonly string[]): string {
  return ["coa", ...args]
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}
