/** What a trainer asks of `POST /rollouts`: where its policy is, and the chains to run, `n` of each task with seeds of their own. */
import { randomInt, randomUUID } from "node:crypto";
import { z } from "zod";
import { parse, Refusal } from "../base/http/refusal.ts";
import { derivedSeed } from "../base/work/random.ts";
import { defined, type Json } from "../core/json-value.ts";
import type { Task } from "../core/task.ts";
import type { Lease, PolicyAddress } from "../train/workers/worker-protocol.ts";
import { readTask } from "./read-task.ts";

export interface RolloutJob extends Pick<Lease, "seed" | "sample">, NonNullable<Lease["chain"]> {
  item: number;
  task: Task;
  withTrajectory: boolean;
}

export interface RolloutRequest {
  id?: string;
  policy: PolicyAddress;
  jobs: RolloutJob[];
  /** Send each rollout as an event when it ends. */
  stream: boolean;
}

const whole = z.number().int();
const seed = whole.nullish();
const samplingSchema = z.object({
  temperature: z.number().min(0).max(100).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_k: z.number().nullish(),
  n: whole.min(1).max(4096).nullish(),
  seed,
  max_tokens: whole.min(1).nullish(),
  max_steps: whole.min(1).nullish(),
  max_tool_calls: whole.min(0).nullish(),
  max_seconds: z.number().min(0).max(1e9).nullish(),
});
const itemSchema = z.looseObject({
  task_id: z.coerce.string().nullish(),
  sampling: samplingSchema.nullish(),
  n: samplingSchema.shape.n,
  seed,
  trajectory: z.boolean().nullish(),
});
const requestSchema = itemSchema.extend({
  id: z.string().nullish(),
  model: z.string().nullish(),
  api_key: z.string().nullish(),
  items: z.array(itemSchema).min(1),
  stream: z.boolean().nullish(),
});

/** Reads the body; what an item sets takes precedence over what the request sets for all. More than `room` rollouts are refused. */
export function readRollouts(given: Json, room: number): RolloutRequest {
  const baseURL = given["baseURL"] ?? given["base_url"];
  if (!/^https?:$/.test(URL.parse(String(baseURL))?.protocol ?? ""))
    throw new Refusal(400, "baseURL must be the address of the policy, such as http://trainer:8000/v1", {
      param: "baseURL",
    });
  const body = parse(requestSchema, given);
  const { id, model, api_key: apiKey } = body;
  const items = body.items.map((item) => ({ ...body, ...item, sampling: { ...body.sampling, ...item.sampling } }));
  // Counted before one is made: a small request can name millions.
  const count = items.reduce((sum, item) => sum + countOf(item), 0);
  if (count > room)
    throw new Refusal(429, `${count} more rollouts do not fit the queue`, {
      code: "queue_full",
      headers: { "retry-after": "5" },
    });
  return {
    ...(id && { id }),
    policy: { baseURL: String(baseURL), ...(model && { model }), ...(apiKey && { apiKey }) },
    stream: body.stream === true,
    jobs: items.flatMap(jobsOf),
  };
}

function countOf({ n, sampling }: z.infer<typeof itemSchema>): number {
  return n ?? sampling?.n ?? 1;
}

function jobsOf(item: z.infer<typeof itemSchema>, index: number): RolloutJob[] {
  const task = readTask(item, { id: item.task_id ?? `item-${index}`, graded: false });
  const { temperature, top_p, top_k, seed: shared, ...most } = item.sampling!;
  const count = countOf(item);
  const base = item.seed ?? shared ?? undefined;
  const sampling = defined({
    temperature: temperature ?? 1,
    topP: top_p ?? undefined,
    topK: top_k && top_k > 0 ? top_k : undefined,
  });
  const limits = defined({
    maxCompletionTokens: most.max_tokens ?? undefined,
    maxSteps: most.max_steps ?? undefined,
    maxToolCalls: most.max_tool_calls ?? undefined,
    maxWallMs: most.max_seconds == null ? undefined : most.max_seconds * 1000,
  }) as Record<string, number>;
  return Array.from({ length: count }, (_, sample) => ({
    id: `rollout_${randomUUID().replaceAll("-", "")}`,
    item: index,
    sample,
    task,
    seed: base === undefined ? randomInt(2 ** 31) : count === 1 ? base : derivedSeed(base, "sample", sample),
    sampling,
    limits,
    withTrajectory: item.trajectory === true,
  }));
}
