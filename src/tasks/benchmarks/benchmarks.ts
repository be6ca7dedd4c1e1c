/**
 * The benchmarks by name: how a row of their files becomes a task, which grader decides and which figure is usual.
 * Both the shapes of the reference implementation and those on Hugging Face are read; a row says itself which it is.
 */
import { createHash } from "node:crypto";
import { CoaError } from "../../core/errors.ts";
import { defined, parseJson } from "../../core/json-value.ts";
import { defineTask, type Task, type TaskKind } from "../../core/task.ts";
import { taskSchema } from "../../core/task-schema.ts";
import type { JudgeName } from "../../graders/judges/judges.ts";
import type { ScorerName } from "../../graders/scorers.ts";
import { codeTestsOf, hasHiddenTests, questionIdOf } from "./code-rows.ts";
import { groundTruth, pick, pickObject, pickText, promptQuestion, textsOf } from "./fields.ts";
import type { Row } from "./read-rows.ts";

export interface Benchmark {
  name: string;
  title: string;
  /** Other names that its published files begin with. */
  alsoNamed?: readonly string[];
  kind: TaskKind;
  metric: "pass@1" | "avg@16";
  /** Where its files are found. */
  origin: string;
  /** The forms its files are published in, all of which are read. */
  shape: string;
  /** The authors' rule by name; see graders/scorers.ts. */
  scorer?: ScorerName;
  /** What is different from the authors' own program, beyond what its scorer notes. */
  differs?: string;
  /** The judge prompt that its authors use; see graders/judges.ts. */
  judge?: JudgeName;
  /** Fields that differ from the general reading. */
  read?: (row: Row) => Partial<Task>;
}

const aliasesOf = (row: Row) => ({ answers: textsOf([row["answer"], row["answer_aliases"]]) });

export const benchmarks: readonly Benchmark[] = [
  { name: "gaia", title: "GAIA", kind: "gaia", scorer: "gaia", metric: "pass@1", origin: "gaia-benchmark/GAIA", shape: "JSON, JSONL, parquet", read: gaia },
  { name: "browsecomp", title: "BrowseComp", kind: "judge", judge: "browsecomp", metric: "pass@1", origin: "openai/simple-evals", shape: "CSV, encrypted; JSON", read: browseComp },
  { name: "hle", title: "HLE", alsoNamed: ["humanitys-last-exam"], kind: "judge", judge: "hle", metric: "pass@1", origin: "cais/hle", shape: "parquet, JSON", read: (row) => ({ family: pickText(row, "category"), ...image(row) }) },
  { name: "webwalker", title: "WebWalkerQA", kind: "judge", judge: "webwalker", metric: "pass@1", origin: "callanwu/WebWalkerQA", shape: "JSON, JSONL", read: webWalker },
  { name: "nq", title: "Natural Questions", alsoNamed: ["nq-open"], kind: "qa", scorer: "squad", metric: "pass@1", origin: "google-research-datasets/nq_open", shape: "JSONL, parquet" },
  { name: "triviaqa", title: "TriviaQA", kind: "qa", scorer: "triviaqa", metric: "pass@1", origin: "mandarjoshi/trivia_qa", shape: "JSON (own release), parquet" },
  { name: "popqa", title: "PopQA", kind: "qa", scorer: "squad", metric: "pass@1", origin: "akariasai/PopQA", shape: "TSV, JSONL", read: popQa },
  { name: "hotpotqa", title: "HotpotQA", alsoNamed: ["hotpot"], kind: "qa", scorer: "hotpotqa", metric: "pass@1", origin: "hotpotqa/hotpot_qa", shape: "JSON, parquet", read: byType },
  { name: "2wiki", title: "2WikiMultiHopQA", alsoNamed: ["2wikimultihop"], kind: "qa", scorer: "hotpotqa", metric: "pass@1", origin: "xanhho/2WikiMultihopQA", shape: "JSON, parquet", read: byType },
  { name: "musique", title: "MuSiQue", kind: "qa", scorer: "squad", metric: "pass@1", origin: "dgslibisey/MuSiQue", shape: "JSONL", differs: "F1 of two texts of which the normalisation leaves nothing is 0, there 1", read: aliasesOf },
  { name: "bamboogle", title: "Bamboogle", kind: "qa", scorer: "squad", metric: "pass@1", origin: "chiayewken/bamboogle", shape: "CSV, parquet" },
  { name: "livecodebench-v4", title: "LiveCodeBench v4", kind: "code", scorer: "livecodebench", metric: "pass@1", origin: "livecodebench/code_generation_lite", shape: "JSONL, parquet", read: code },
  { name: "livecodebench-v5", title: "LiveCodeBench v5", kind: "code", scorer: "livecodebench", metric: "pass@1", origin: "livecodebench/code_generation_lite", shape: "JSONL, parquet", read: code },
  { name: "codecontests", title: "CodeContests", kind: "code", scorer: "codecontests", metric: "pass@1", origin: "deepmind/code_contests", shape: "parquet, JSONL", read: code },
  { name: "aime24", title: "AIME 2024", kind: "math", scorer: "math", metric: "avg@16", origin: "HuggingFaceH4/aime_2024", shape: "parquet, JSONL" },
  { name: "aime25", title: "AIME 2025", kind: "math", scorer: "math", metric: "avg@16", origin: "math-ai/aime25", shape: "JSONL, parquet" },
  { name: "math500", title: "MATH-500", kind: "math", scorer: "math", metric: "pass@1", origin: "HuggingFaceH4/MATH-500", shape: "JSONL, parquet" },
  { name: "amc23", title: "AMC 2023", kind: "math", scorer: "math", metric: "avg@16", origin: "math-ai/amc23", shape: "JSONL, parquet" },
  { name: "olympiadbench", title: "OlympiadBench", kind: "math", scorer: "math", metric: "pass@1", origin: "Hothan/OlympiadBench", shape: "parquet, JSON", differs: "own engine, not SymPy; a row's own tolerance (`error`) is not used", read: olympiad },
]; // biome-ignore format: one benchmark a line

/** The benchmark of that name; spelling of dashes and case is free. */
export function findBenchmark(name: string): Benchmark | undefined {
  const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, "");
  return benchmarks.find((benchmark) =>
    [benchmark.name, benchmark.title, ...(benchmark.alsoNamed ?? [])].some((one) => plain(one) === plain(name)),
  );
}

/** A task from a row; `benchmark` is undefined for a user's own file. */
export function taskFromRow(row: Row, index: number, benchmark: Benchmark | undefined, source: string): Task {
  if (row["version"] === 1 && typeof row["kind"] === "string") return checked(row, source, index);
  const truth = groundTruth(row);
  const extra = pickObject(row, "extra_info") ?? {};
  const told = truth !== null && typeof truth === "object" ? (truth as Row) : {};
  const question =
    pickText(extra, "question") ??
    pickText(told, "question") ??
    promptQuestion(row) ??
    pickText(row, "question", "Question", "problem", "Problem", "question_content", "description", "query");
  if (question === undefined)
    throw new CoaError(
      "format",
      `${source}, row ${index + 1}: no question in it (fields: ${Object.keys(row).join(", ")})`,
    );
  const id =
    pickText(row, "task_id", "id", "_id", "ID", "question_id", "QuestionId", "unique_id", "name", "idx") ??
    pickText(extra, "index") ??
    String(index);
  const name = benchmark?.name ?? source;
  const level = pick(row, "Level", "level", "difficulty") ?? pick(extra, "difficulty", "level");
  const task: Task = defineTask({
    id: `${name}/${id}`,
    question,
    kind: benchmark?.kind ?? kindOf(row),
    ...(benchmark?.scorer ? { scorer: benchmark.scorer } : {}),
    answers: textsOf(
      truth ??
        pick(row, "golden_answers", "answers", "Final answer", "answer", "Answer", "final_answer", "gold", "target"),
    ),
    family: pickText(row, "family", "subject", "category", "topic") ?? benchmark?.title ?? name,
    source: name,
  });
  if (typeof level === "string" || typeof level === "number") task.level = level;
  const fields = (benchmark?.read ?? (task.kind === "code" ? code : undefined))?.(row) ?? {};
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) Object.assign(task, { [key]: value });
  return checked(task, source, index);
}

function checked(task: unknown, source: string, index: number): Task {
  const parsed = taskSchema.safeParse(task);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new CoaError("format", `${source}, row ${index + 1}: ${issue?.path.join(".")}: ${issue?.message}`);
}

/** What the reference implementation's training rows name as their source, and how each is graded there. */
const sourceKinds: [RegExp, TaskKind][] = [
  [/^(?:search|web|mercury|generated_web)/i, "judge"],
  [/math|aime|amc|olympiad|gsm8k|gms8k/i, "math"],
  [/livecodebench|lcb|codeforces|codecontests|skywork.*code|^code/i, "code"],
];

/** A row without a kind: tests make it code, a known source its usual kind, otherwise exact match. */
function kindOf(row: Row): TaskKind {
  const named = row["kind"];
  if (typeof named === "string" && ["qa", "judge", "math", "gaia", "code"].includes(named)) return named as TaskKind;
  const source = pickText(row, "data_source");
  const known = source === undefined ? undefined : sourceKinds.find(([pattern]) => pattern.test(source))?.[1];
  if (known) return known;
  return row["tests"] || row["public_tests"] || row["public_test_cases"] ? "code" : "qa";
}

function gaia(row: Row): Partial<Task> {
  const file = pickText(row, "file_name");
  const metadata = pickObject(row, "Annotator_Metadata", "Annotator Metadata");
  const hidden = pickText(row, "Final answer", "answer") === "?";
  return {
    family: "GAIA",
    // The test split is published without its answers.
    ...(hidden ? { answers: [] } : {}),
    ...(file ? { files: [file] } : {}),
    ...(metadata ? { meta: { steps: metadata["Steps"], tools: metadata["Tools"] } } : {}),
  };
}

/** BrowseComp is published encrypted with a key in each row, so that it can't be read by accident while training. */
function browseComp(row: Row): Partial<Task> {
  const family = pickText(row, "topic", "problem_topic");
  const canary = pickText(row, "canary");
  if (canary === undefined) return { family };
  const open = (text: unknown) => {
    const bytes = Buffer.from(String(text), "base64");
    const key = createHash("sha256").update(canary).digest();
    return Buffer.from(bytes.map((byte, i) => byte ^ key[i % key.length]!)).toString("utf8");
  };
  return { question: open(row["problem"]), answers: [open(row["answer"])], family };
}

function webWalker(row: Row): Partial<Task> {
  const info = pickObject(row, "info") ?? {};
  const level = pickText(info, "Level", "difficulty_level");
  return {
    family: pickText(info, "type"),
    ...(level ? { level } : {}),
    meta: { rootUrl: row["root_url"], domain: info["domain"], language: info["lang"] },
  };
}

function popQa(row: Row): Partial<Task> {
  const possible = row["possible_answers"];
  const answers = textsOf(typeof possible === "string" ? parseJson(possible) : possible);
  return { ...(answers.length > 0 ? { answers } : {}), family: pickText(row, "prop") };
}

function byType(row: Row): Partial<Task> {
  return { family: pickText(row, "type") };
}

function olympiad(row: Row): Partial<Task> {
  const answers = textsOf(row["final_answer"]);
  const context = pickText(row, "context");
  return {
    ...(answers.length > 0 ? { answers: [answers.join(", ")] } : {}),
    ...(context ? { question: `${context}\n\n${pickText(row, "question")}` } : {}),
    family: pickText(row, "subfield"),
    ...image(row),
  };
}

function code(row: Row): Partial<Task> {
  const extra = pickObject(row, "extra_info") ?? {};
  const tests = codeTestsOf(row) ?? (row["tests"] as Task["tests"]);
  const starter = row["starter_code"];
  const content = pickText(row, "question_content", "description");
  const date = pick(row, "contest_date") ?? extra["contest_date"];
  return {
    tests: tests && !hasHiddenTests(row) ? { ...tests, publicOnly: true } : tests,
    answers: [],
    family: pickText(row, "platform") ?? pickText(extra, "platform"),
    ...(content && typeof starter === "string" && starter !== ""
      ? { question: `${content}\n\nStarter code:\n\`\`\`py\n${starter}\n\`\`\`` }
      : {}),
    ...(date !== undefined && { date: date instanceof Date ? date.toISOString() : String(date) }),
    questionId: questionIdOf(row),
    meta: defined({ title: pick(row, "question_title", "name") ?? extra["question_title"] }),
  };
}

function image(row: Row): Partial<Task> {
  const picture = pick(row, "image", "image_1");
  return picture === undefined ? {} : { hasImage: true };
}
