/**
 * The work of `coa up` as a list of commands: it prints what it runs, and each command can be typed by hand. A step
 * names the files that decide its result, so that a later run knows what is done, what continues and what is stale.
 */
import { basename, join } from "node:path";
import { questionsOfPassage } from "./estimate.ts";
import type { UpInput } from "./look-at-input.ts";

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

/** The student: a new small model, the one of this package, a folder with a real one, or one on a Tinker server. */
export type Student =
  | { kind: "shipped"; name: string; folder: string; context: number }
  | {
      kind: "scratch";
      name: string;
      hidden: number;
      layers: number;
      heads: number;
      vocabulary: number;
      context: number;
    }
  | { kind: "folder"; name: string; folder: string; rank: number }
  | { kind: "server"; name: string; folder: string; rank: number; flags: readonly string[]; weightsHere: boolean };

export interface UpChoices {
  /** Where everything goes; what belongs to one student alone, into a folder with its name. */
  folder: string;
  student: Student;
  /** Students that were measured on the same questions before: they stand in the same comparison. */
  others: readonly string[];
  questions: number;
  /** Share of the tasks that training never sees; once they are counted, how many. */
  heldOut: number;
  /** Tasks with their answers, where the user has them. */
  tasks?: string;
  /** Flags of the model that plays the team: --model, --base-url, --role. */
  players: readonly string[];
  /** --price, --max-usd. */
  spending: readonly string[];
  tools: readonly string[];
  judge: readonly string[];
  assumeRight: boolean;
  steps?: number;
  /** Of practice on the questions of training, where their answers were given and tools are live; 0: none. */
  rlSteps: number;
  /** There were too few tasks to set some aside: measure on those that it is trained on, and say so. */
  measureOnTraining?: boolean;
}

/** The steps from this input to a compared model. */
export function planUp(input: UpInput, choices: UpChoices): UpStep[] {
  const { folder, student, players, spending, judge } = choices;
  const at = (...parts: string[]) => join(folder, ...parts);
  const mine = (...parts: string[]) => join(folder, student.name, ...parts);
  const own = input.kind === "documents" ? choices.tasks : undefined;
  const files = {
    input: input.path,
    tasks: own ?? at("tasks.jsonl"),
    runs: at("runs.jsonl"),
    unsolved: at("tasks.unsolved.jsonl"),
    train: at(`${stemOf(own ?? "tasks.jsonl")}.train.jsonl`),
    test: at(`${stemOf(own ?? "tasks.jsonl")}.test.jsonl`),
    chains: mine("distilled", "trajectories.jsonl"),
    dataset: mine("dataset"),
    student: student.kind === "scratch" ? mine("student") : student.folder,
    model: mine("sft", "model"),
    practised: mine("rl", "model"),
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
            args: words`tasks generate ${files.input} ${players} ${ledger} --count ${choices.questions} --set tasks.perDocument=${questionsOfPassage(input.pieces, choices.questions)} --out ${files.tasks}`,
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
    ...practise(input, files, choices),
    ...measure(input, files, choices),
  ];
}

type Files = Record<
  | "tasks"
  | "runs"
  | "unsolved"
  | "train"
  | "test"
  | "chains"
  | "dataset"
  | "student"
  | "model"
  | "practised"
  | "report",
  string
>;

/** From recorded runs to a trained model. */
function learn(input: UpInput, files: Files, choices: UpChoices): UpStep[] {
  const { folder, student, heldOut } = choices;
  const { tasks, runs, test, chains, dataset } = files;
  const scratch = student.kind === "scratch" ? student : undefined;
  const bare = isBare(student);
  const own = join(folder, student.name);
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
      args: words`distill run ${runs} --tasks ${tasks} ${unsolved} --eval ${test} --set distill.keepWithoutReflection=1 --set distill.minInteractions=1 ${bare ? words`--bare --set distill.layout=compact` : []} ${assumed(choices)} --out ${join(own, "distilled")}`,
      inputs: [runs, tasks, test],
      outputs: [chains],
      claims: true,
    },
    {
      name: "dataset",
      what: "turn chains into token ids with an exact loss mask",
      args: words`dataset build ${chains} ${scratch ? words`--vocabulary ${scratch.vocabulary}` : words`--tokenizer ${files.student}`} ${bare ? words`--max-tokens ${student.context}` : []} --out ${dataset}`,
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
      what: bare ? "teach it the chains" : "teach the model the chains, as an adapter",
      args: words`train sft ${dataset} --model ${files.student} ${trainFlags(choices)} --out ${join(own, "sft")}`,
      inputs: [join(dataset, "examples.jsonl"), join(files.student, "config.json")],
      claims: true,
    },
  ];
  return steps.filter((step) => step !== false);
}

/** Updates that a new small model needs: it must see each chain many times, and has seen nothing before. */
export function bareSteps({ kind }: Student, chains: number): number {
  return kind === "shipped" ? Math.min(2000, Math.max(150, 3 * chains)) : Math.min(4000, Math.max(400, 6 * chains));
}

/** Small models are given the question alone, and answer in the compact layout. */
export function isBare(student: Student): student is Extract<Student, { kind: "scratch" | "shipped" }> {
  return student.kind === "scratch" || student.kind === "shipped";
}

function trainFlags({ student, steps, questions }: UpChoices): string[] {
  if (isBare(student))
    return words`--steps ${steps ?? bareSteps(student, questions)} --set train.batchTokens=2048 --set train.heldOut=0 ${student.kind === "shipped" ? words`--rate 0.001` : []}`;
  const length = steps === undefined ? words`--epochs 3` : words`--steps ${steps}`;
  return words`--lora ${student.rank} ${student.kind === "server" ? student.flags : []} ${length}`;
}

/** Whether answers can be checked and tools can be called anew: practice needs both. */
export function practises(input: UpInput, { tasks, tools, rlSteps }: UpChoices): boolean {
  return rlSteps > 0 && tasks !== undefined && (input.kind === "documents" || tools.length > 0);
}

/** RL on the questions of training, rewarded by their answers alone. */
function practise(input: UpInput, files: Files, choices: UpChoices): UpStep[] {
  const { student, folder, rlSteps } = choices;
  if (!practises(input, choices) || !measurable(student)) return [];
  const { train, model, runs } = files;
  const adapter = isBare(student) ? [] : words`--lora ${student.rank}`;
  return [
    {
      name: "practise",
      what: "let it try the questions of training with live tools; what worked is reinforced",
      args: words`train rl ${train} --model ${model} ${toolFlags(input, runs, choices)} ${limitsOf(student)} --preset verifiable --steps ${rlSteps} ${adapter} --out ${join(folder, student.name, "rl")}`,
      inputs: [train, weightsOf(model)],
      claims: true,
    },
  ];
}

const weightsOf = (model: string) => join(model, "model.safetensors");
const limitsOf = (student: Student) =>
  isBare(student) ? words`--set limits.maxSteps=16 --max-tokens ${student.context}` : [];
/** An adapter without the weights it belongs to can't be run here. */
const measurable = (student: Student) => student.kind !== "server" || student.weightsHere;

/** The team as it was recorded, its model alone, the student before and after, on the same held-out tasks. */
function measure(input: UpInput, files: Files, choices: UpChoices): UpStep[] {
  const { student, tools, measureOnTraining, players, spending, others } = choices;
  const own = join(choices.folder, student.name);
  // By what was put in, and by the student.
  const work = basename(choices.folder).replace(/^up-/, "");
  const { runs, model, practised, report } = files;
  const tasks = measureOnTraining ? files.train : files.test;
  const title = `${input.name}: ${measureOnTraining ? "questions it was trained on" : "questions that training never saw"}`;
  // Every row at the same prices: those of the student are the most that it could cost.
  const at = spending.indexOf("--price");
  const priced = at < 0 ? [] : spending.slice(at, at + 2);
  const live = input.kind === "traces" && tools.length === 0 ? "tools replayed from the recording" : "live tools";
  const row = (name: string, what: string, args: string[], ...inputs: string[]): UpStep => ({
    ...{ name: `${name}'s score`, what, inputs: [tasks, ...inputs], claims: true },
    args: words`eval run ${tasks} ${args} --name ${work}-${evaluationName(name)}`,
  });
  /** The student's rows carry its name. */
  const evaluationName = (name: string) =>
    (
      ({ base: `${student.name}-base`, model: student.name, practised: `${student.name}-practised` }) as Record<
        string,
        string
      >
    )[name] ?? name.replaceAll(" ", "-");
  const played = (name: string, what: string, folder: string, ...more: string[]) =>
    row(
      name,
      `${what}, with ${live}`,
      words`--model ${folder} ${toolFlags(input, runs, choices)} ${limitsOf(student)} ${priced} ${more}`,
      weightsOf(folder),
      input.path,
    );
  const team = row(
    "team",
    "grade the recorded team on the questions set aside; nothing is run again",
    words`--system recorded --runs ${runs} ${priced}`,
    runs,
  );
  if (!measurable(student)) return [team];
  const ledger = words`--set spending.ledger=${join(choices.folder, "spending.jsonl")} ${spending}`;
  const asked = words`--profile ${join(own, "distilled", "profile.json")} --set chain.example=true`;
  const rows = [
    team,
    ...(input.kind === "documents" || players.length > 0
      ? [
          row(
            "model alone",
            "the team's model answers without team and tools",
            words`--system model ${players} ${ledger}`,
          ),
        ]
      : []),
    ...(isBare(student)
      ? []
      : [played("base", "the student before training, told the rules", student.folder, ...asked)]),
    played("model", "the student that learned from the runs", model),
    ...(practises(input, choices) ? [played("practised", "the student that practised after that", practised)] : []),
  ];
  const names = rows.map(({ args }) => args.at(-1)!);
  const shared = names.findIndex((name) => name.startsWith(`${work}-${student.name}`));
  names.splice(shared, 0, ...others.map((one) => `${work}-${one}`));
  return [
    ...rows,
    {
      name: "report",
      what: "compare them",
      args: words`eval compare ${names} --title ${title} --html ${report}`,
      inputs: [tasks, runs, weightsOf(model)],
      outputs: [report],
    },
  ];
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
