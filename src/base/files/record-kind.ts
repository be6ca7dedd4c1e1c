/**
 * What a JSONL file of ours (or of a program that writes our types) holds, known from one of its lines. Runs and chains
 * come bare, inside a rollout, or inside an evaluation's line: they are unwrapped here and nowhere else.
 */
import { asObject, type Json } from "../../core/json-value.ts";
import type { TeamRun } from "../../core/team-run.ts";
import type { Trajectory } from "../../core/trajectory.ts";

export type FileKind =
  | "runs"
  | "chains"
  | "rollouts"
  | "examples"
  | "metrics"
  | "figures"
  | "outcomes"
  | "evaluation"
  | "tasks"
  | "annotations"
  | "other";

/** A run, a chain (with what stood around it) or a line of a dataset. */
export type FoundRecord =
  | { kind: "run"; run: TeamRun; around?: Around }
  | { kind: "chain"; chain: Trajectory; around?: Around }
  | { kind: "example"; example: object; around?: undefined };

/** What a line says of the record inside it. */
export interface Around {
  step?: number;
  group?: string;
  /** How a rollout is named in the file of figures. */
  rollout?: string;
  reward?: number;
  question?: string;
  family?: string;
  /** Why and where it was dropped, for a sample of what distillation dropped. */
  stage?: string;
  reason?: string;
}

/** The kind of a file by one parsed line of it. */
export function fileKindOf(line: unknown): FileKind {
  const value = asObject(line);
  if (!value) return "other";
  const found = recordIn(value);
  if (found?.kind === "example") return "examples";
  if (found) return asObject(value["trajectory"]) && "step" in value ? "rollouts" : `${found.kind}s`;
  if ("decisions" in value || ("stage" in value && "index" in value && "file" in value)) return "outcomes";
  if ("rollout" in value && "group" in value) return "figures";
  if ("target" in value && "verdict" in value) return "annotations";
  if ("grade" in value && "system" in value) return "evaluation";
  if ("question" in value && "answers" in value) return "tasks";
  if (typeof value["step"] === "number") return "metrics";
  return "other";
}

/** The run, chain or example that a line holds, by its shape; its fields are checked where they are shown. */
export function recordIn(line: unknown): FoundRecord | undefined {
  const value = asObject(line);
  if (!value) return undefined;
  if (Array.isArray(value["segments"]) && Array.isArray(value["prompt"])) {
    return { kind: "chain", chain: value as unknown as Trajectory };
  }
  if (Array.isArray(value["steps"]) && Array.isArray(value["agents"]) && asObject(value["messages"])) {
    return { kind: "run", run: value as unknown as TeamRun };
  }
  if (Array.isArray(value["tokens"]) && Array.isArray(value["spans"])) {
    return { kind: "example", example: value };
  }
  const inner = value["trajectory"] ?? value["value"];
  if (!asObject(inner) || inner === value) return undefined;
  const found = recordIn(inner);
  return found && found.kind !== "example" ? { ...found, around: aroundOf(value) } : undefined;
}

function aroundOf(line: Json): Around {
  const { step, round, slot, sample, reward, stage, reason, task } = line as Json & { task?: Json };
  const named = typeof slot === "number" && typeof round === "number";
  return {
    ...(typeof step === "number" && { step }),
    ...(named && { group: `${step}/${round}/${slot}`, rollout: `${step}/${round}/${slot}/${sample}` }),
    ...(typeof reward === "number" && { reward }),
    ...(typeof stage === "string" && { stage }),
    ...(typeof reason === "string" && { reason }),
    ...(typeof task?.["question"] === "string" && { question: task["question"] }),
    ...(typeof task?.["family"] === "string" && { family: task["family"] }),
  };
}
