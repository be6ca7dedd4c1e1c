/**
 * The port on which workers take rollouts of `train rl`: they then run the chains, and this process trains and rewards.
 */
import { accessOf, checkReach } from "../base/http/access.ts";
import { listen } from "../base/http/listen.ts";
import type { Engine } from "../core/engine.ts";
import type { Task } from "../core/task.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import type { Tool } from "../core/tool.ts";
import type { Profile } from "../language/profile.ts";
import { coordinatorHandler } from "../train/workers/coordinator-handler.ts";
import { type LeaseBoard, leaseBoard } from "../train/workers/lease-board.ts";
import { workerIdentity } from "../train/workers/worker-identity.ts";
import type { RolloutChain, RunForWorkers } from "../train/workers/worker-protocol.ts";
import type { Section } from "./settings/index.ts";

export interface Coordinator {
  play: LeaseBoard["play"];
  /** Tells workers that the run has ended. */
  close(): Promise<void>;
}

/** Opens the port, where there is to be one. */
export async function openCoordinator(
  settings: Section<"workers">,
  run: {
    engine: Engine;
    tokenizer: Tokenizer;
    profile: Profile;
    task: Task;
    toolsOf: (task: Task) => readonly Tool[];
    chain: RolloutChain;
    sampler?: RunForWorkers["sampler"];
  },
  note: (text: string) => void,
): Promise<Coordinator | undefined> {
  const { port, host, key = process.env["COA_WORKERS_KEY"], silenceSeconds, deadlineSeconds } = settings;
  if (port === undefined) return undefined;
  checkReach(host, key !== undefined, "set workers.key=<key>");
  const silenceMs = 1000 * silenceSeconds;
  const board = leaseBoard({ deadlineMs: 1000 * deadlineSeconds, silenceMs });
  const { engine, tokenizer, profile, task, chain, sampler } = run;
  const handler = coordinatorHandler({
    board,
    run: {
      identity: workerIdentity({ profile, tools: run.toolsOf(task), tokenizer }),
      task,
      chain,
      capabilities: engine.capabilities,
      silenceMs,
      sampler,
    },
    access: accessOf(host),
    ...(key ? { keys: [key] } : {}),
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
