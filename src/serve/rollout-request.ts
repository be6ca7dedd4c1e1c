/** What a trainer asks of `POST /rollouts`: where its policy is, and the chains to run, `n` of each task with seeds of their own. */
import { randomUUID } from "node:crypto";
import { derivedSeed } from "../base/work/random.ts";
import type { Sampling } from "../chain/chain-options.ts";
import type { Limits } from "../chain/limits.ts";
import { asNumber, asObject, asString, defined, type Json, objectsOf } from "../core/json-value.ts";
import type { Task } from "../core/task.ts";
import { ApiError } from "./api-error.ts";
import { readTask } from "./read-task.ts";

/** Where a trainer's policy is served. */
export interface PolicyAddress {
  /** With the version: `http://trainer:8000/v1`. */
  baseURL: string;
  /** The model's name on that server. */
  model?: string;
  apiKey?: string;
}

/** One chain to run. */
export interface RolloutJob {
  id: string;
  /** Which item of the request, and which sample of it. */
  item: number;
  sample: number;
  task: Task;
  sampling: Sampling;
  limits: Partial<Limits>;
  withTrajectory: boolean;
}

export interface RolloutRequest {
  id?: string;
  policy: PolicyAddress;
  jobs: RolloutJob[];
  /** Send each rollout as an event when it ends. */
  stream: boolean;
}

/** Reads the body; what an item sets takes precedence over what the request sets for all. */
export function readRollouts(body: Json): RolloutRequest {
  const baseURL = asString(body["baseURL"]) ?? asString(body["base_url"]) ?? "";
  if (!/^https?:$/.test(URL.parse(baseURL)?.protocol ?? ""))
    throw new ApiError(400, "baseURL must be the address of the policy, such as http://trainer:8000/v1", {
      param: "baseURL",
    });
  const items = objectsOf(body["items"]);
  if (items.length === 0) throw new ApiError(400, "items must be a list of tasks", { param: "items" });
  return {
    id: asString(body["id"]),
    policy: { baseURL, ...defined({ model: asString(body["model"]), apiKey: asString(body["api_key"]) }) },
    stream: body["stream"] === true,
    jobs: items.flatMap((item, index) => jobsOf({ ...body, ...item, sampling: samplingOf(body, item) }, index)),
  };
}

function samplingOf(body: Json, item: Json): Json {
  return { ...asObject(body["sampling"]), ...asObject(item["sampling"]) };
}

function jobsOf(item: Json, index: number): RolloutJob[] {
  const task = readTask(item, { id: asString(item["task_id"]) ?? `item-${index}`, graded: false });
  const given = asObject(item["sampling"])!;
  const n = whole(item["n"] ?? given["n"] ?? 1, "n", 1, 4096);
  const base = asNumber(item["seed"]) ?? asNumber(given["seed"]);
  const topK = asNumber(given["top_k"]);
  const sampling: Sampling = defined({
    temperature: ranged(given["temperature"] ?? 1, "temperature", 0, 100),
    topP: ranged(given["top_p"], "top_p", 0, 1),
    topK: topK !== undefined && topK > 0 ? topK : undefined,
  });
  const seconds = ranged(given["max_seconds"], "max_seconds", 0, 1e9);
  const limits: Partial<Limits> = defined({
    maxCompletionTokens: limit(given["max_tokens"], "max_tokens"),
    maxSteps: limit(given["max_steps"], "max_steps"),
    maxToolCalls: limit(given["max_tool_calls"], "max_tool_calls", 0),
    maxWallMs: seconds === undefined ? undefined : seconds * 1000,
  });
  return Array.from({ length: n }, (_, sample) => {
    const seed = base === undefined || n === 1 ? base : derivedSeed(base, "sample", sample);
    return {
      id: `rollout_${randomUUID().replaceAll("-", "")}`,
      item: index,
      sample,
      task,
      sampling: { ...sampling, ...(seed !== undefined && { seed }) },
      limits,
      withTrajectory: item["trajectory"] === true,
    };
  });
}

function limit(value: unknown, param: string, min = 1): number | undefined {
  return value === undefined || value === null ? undefined : whole(value, param, min, Number.MAX_SAFE_INTEGER);
}

function whole(value: unknown, param: string, min: number, max: number): number {
  if (Number.isInteger(value)) return ranged(value, param, min, max)!;
  throw new ApiError(400, `${param} must be a whole number`, { param });
}

function ranged(value: unknown, param: string, min: number, max: number): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && value >= min && value <= max) return value;
  throw new ApiError(400, `${param} must be between ${min} and ${max}, not ${JSON.stringify(value)}`, { param });
}
