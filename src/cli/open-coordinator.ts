/**
 * The port on which workers take rollouts of `train rl`: they then run the chains, and this process trains and rewards.
 */
import { accessOf, checkReach } from "../base/http/access.ts";
import { listen } from "../base/http/listen.ts";
import type { Engine } from "../core/engine.ts";
import { UsageError } from "../core/errors.ts";
import type { Task } from "../core/task.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import type { Tool } from "../core/tool.ts";
import type { Profile } from "../language/profile.ts";
import { coordinatorHandler } from "../train/workers/coordinator-handler.ts";
import { type LeaseBoard, leaseBoard } from "../train/workers/lease-board.ts";
import { workerIdentity } from "../train/workers/worker-identity.ts";
import { numberOf, type Options, type Values } from "./command.ts";

/** Flags of a run whose rollouts workers run. */
export const coordinatorFlags = {
  "workers-port": { type: "string", valueName: "n", describe: "Let workers run the rollouts (coa worker --coordinator …), on this port; 0 for any free one" },
  "workers-host": { type: "string", default: "127.0.0.1", valueName: "address", describe: "Address for workers; beyond loopback a key is needed" },
  "workers-key": { type: "string", valueName: "key", describe: "Key that workers must bring (default COA_WORKERS_KEY)" },
  "worker-silence": { type: "string", default: "30", valueName: "seconds", describe: "A worker that is silent for this long counts as lost, and its rollouts are offered again" },
  "rollout-deadline": { type: "string", default: "3600", valueName: "seconds", describe: "A rollout that a worker has not finished by then is offered again" },
} as const satisfies Options; // biome-ignore format: one flag a line

/** What every rollout of a run has in common, as workers are told. */
export interface RolloutChain {
  temperature: number;
  limits: Record<string, number>;
  /** The question is put without a system prompt. */
  bareQuestion: boolean;
}

/** The same as options of `chainRollout`. */
export function chainOf({ temperature, limits, bareQuestion }: RolloutChain) {
  return { temperature, limits, ...(bareQuestion && { systemPrompt: false as const }) };
}

export interface Coordinator {
  play: LeaseBoard["play"];
  /** Tells workers that the run has ended. */
  close(): Promise<void>;
}

type CoordinatorValues = Values<typeof coordinatorFlags> & {
  faults?: string;
  "sampler-url"?: string;
  "sampler-model"?: string;
  "base-model"?: string;
};

/** Opens the port, where there is to be one. */
export async function openCoordinator(
  values: CoordinatorValues,
  run: {
    engine: Engine;
    tokenizer: Tokenizer;
    profile: Profile;
    task: Task;
    toolsOf: (task: Task) => readonly Tool[];
    chain: RolloutChain;
  },
  note: (text: string) => void,
): Promise<Coordinator | undefined> {
  const port = numberOf(values["workers-port"], "workers-port", { min: 0, max: 65_535, integer: true });
  if (port === undefined) return undefined;
  if (values.faults !== undefined)
    throw new UsageError("--tool-faults can't be used with workers: leave --workers-port out");
  const host = values["workers-host"];
  const key = values["workers-key"] ?? process.env["COA_WORKERS_KEY"];
  checkReach(host, key !== undefined, "workers-key");
  const silenceMs = 1000 * numberOf(values["worker-silence"], "worker-silence", { min: 1 })!;
  const deadlineMs = 1000 * numberOf(values["rollout-deadline"], "rollout-deadline", { min: 1 })!;
  const board = leaseBoard({ deadlineMs, silenceMs });
  const { engine, tokenizer, profile, task, chain } = run;
  const handler = coordinatorHandler({
    board,
    run: {
      identity: workerIdentity({ profile, tools: run.toolsOf(task), tokenizer }),
      task,
      chain: { ...chain },
      capabilities: engine.capabilities,
      silenceMs,
      ...(values["sampler-url"] && {
        sampler: {
          baseURL: values["sampler-url"],
          baseModel: values["base-model"] ?? "",
          ...(values["sampler-model"] ? { model: values["sampler-model"] } : {}),
        },
      }),
    },
    access: accessOf(host),
    ...(key ? { apiKeys: [key] } : {}),
  });
  const server = await listen(handler, { port, host });
  note(`Rollouts wait for workers: coa worker --coordinator ${server.origin}`);
  return {
    play: board.play,
    async close() {
      board.close();
      await server.drain(5000);
    },
  };
}
