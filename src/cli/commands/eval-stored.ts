/** Evaluations by name or by folder. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { openWorkspace } from "../../base/files/workspace.ts";
import { readEvaluation, type StoredEvaluation } from "../../evaluate/read-evaluation.ts";
import { taskGrader } from "../../graders/grade-task.ts";

/** Reads an evaluation: a folder as it is, a name from the workspace. */
export async function readNamed(name: string): Promise<StoredEvaluation> {
  if (existsSync(join(name, "journal.jsonl"))) return readEvaluation(name, { grader: taskGrader() });
  return readEvaluation((await openWorkspace()).path("evals", name), { grader: taskGrader() });
}
