/**
 * Runs chains for callers: at most so many at a time, the others wait in a queue of limited length; a caller that leaves
 * stops its chain, model and tools included. What a chain did goes to whoever keeps trajectories.
 */

import type { ChainOptions } from "../chain/chain-options.ts";
import { streamChain } from "../chain/stream-chain.ts";
import { type Release, semaphore } from "../core/limiter.ts";
import type { Model } from "../core/model.ts";
import type { Profile } from "../core/profile.ts";
import type { Task } from "../core/task.ts";
import type { Tool } from "../core/tool.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { systemPrompt } from "../language/system-prompt.ts";
import { ApiError } from "./api-error.ts";
import type { ChainRequest } from "./chain-request.ts";
import { type ServedEvent, servedEvents } from "./served-events.ts";

export interface ChainServiceOptions {
  model: Model;
  profile: Profile;
  /** The tools of a task. */
  toolsOf: (task: Task) => readonly Tool[];
  /** What chains of this model are run with; what a request sets wins, within these limits. */
  defaults?: Pick<ChainOptions, "systemPrompt" | "limits" | "enforcement" | "sampling" | "prices">;
  /** The name under which clients ask for the model; the model's own by default. */
  name?: string;
  /** Chains at a time; 16 by default. */
  maxChains?: number;
  /** Chains that may wait; 256 by default. More are refused with 429. */
  maxQueue?: number;
  /** Told of every chain that has ended, and whether its caller lets it be kept. */
  onTrajectory?: (trajectory: Trajectory, mayKeep: boolean) => void;
}

/** Runs chains, counted and queued. */
export interface ChainService {
  readonly name: string;
  readonly profile: Profile;
  readonly model: Model;
  readonly running: number;
  readonly waiting: number;
  /** Takes a place, or refuses with 429. */
  place(signal: AbortSignal): Promise<Release>;
  /** Takes a place, or refuses with 429; the events of the chain follow. Leaving the loop early stops the chain. */
  start(request: ChainRequest, signal: AbortSignal): Promise<AsyncGenerator<ServedEvent>>;
  /** Whether a name is one of this service's model. */
  knows(name: string | undefined): boolean;
}

/** A service over one model with its profile and tools. */
export function chainService(options: ChainServiceOptions): ChainService {
  const { model, profile, defaults = {}, maxQueue = 256 } = options;
  const name = options.name ?? model.name;
  const places = semaphore(options.maxChains ?? 16);

  function chainOptions(request: ChainRequest, signal: AbortSignal): ChainOptions {
    const tools = request.noTools ? [] : options.toolsOf(request.task);
    const own = defaults.systemPrompt;
    const base = own === false ? "" : (own ?? systemPrompt(profile, tools));
    return {
      ...defaults,
      id: request.id,
      model,
      profile,
      tools: [...tools],
      // A model of our own was taught with the bare question: instructions would be words it has never seen.
      ...(own !== false && request.instructions && { systemPrompt: `${base}\n\n${request.instructions}` }),
      limits: within(defaults.limits ?? {}, { ...request.limits, ...(request.noTools && { maxToolCalls: 0 }) }),
      sampling: { ...defaults.sampling, ...request.sampling },
      signal,
    };
  }

  async function place(signal: AbortSignal): Promise<Release> {
    if (places.waiting >= maxQueue) {
      throw new ApiError(429, "the server is busy: try again shortly", {
        code: "queue_full",
        headers: { "retry-after": "2" },
      });
    }
    return places.acquire(signal);
  }

  return {
    name,
    profile,
    model,
    get running() {
      return places.held;
    },
    get waiting() {
      return places.waiting;
    },
    knows: (asked) => asked === undefined || asked === name || asked === model.name || asked === "coa",
    place,
    async start(request, signal) {
      const release = await place(signal);
      const project = servedEvents(profile);
      return (async function* () {
        try {
          for await (const event of streamChain(request.task, chainOptions(request, signal))) {
            yield* project(event);
            if (event.type === "chain-end") options.onTrajectory?.(event.trajectory, request.keep);
          }
        } finally {
          release();
        }
      })();
    },
  };
}

/** What a caller asks for, never above what the server allows. */
function within<L extends Partial<Record<string, number>>>(most: L, asked: L): L {
  const limits: Record<string, number | undefined> = { ...most };
  for (const [key, value] of Object.entries(asked)) limits[key] = Math.min(value ?? Infinity, most[key] ?? Infinity);
  return limits as L;
}
