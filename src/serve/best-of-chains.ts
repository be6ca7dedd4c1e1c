/**
 * Test-time scaling behind an API: a request is answered by the best of several chains. The first is streamed as it
 * works; the others run at the same time, with other seeds. The answer is that of the chosen one, the usage that of all of them and of the choice. A chain that the client has a part in is run
 * once: its calls can't be made twice.
 */
import { randomInt } from "node:crypto";
import type { ChainOptions } from "../chain/chain-options.ts";
import { runChain } from "../chain/run-chain.ts";
import type { Task } from "../core/task.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { addUsage, type Usage } from "../core/usage.ts";
import type { ChainRequest } from "./chain-request.ts";

export interface BestOfChains {
  n: number;
  /** Which of them answers; null where none has an answer. */
  choose(
    task: Task,
    candidates: readonly Trajectory[],
    signal: AbortSignal,
  ): Promise<{ index: number | null; reason: string; usage: Usage }>;
}

/** Starts the other candidates of a request; what it returns takes the first when it has ended and gives the chain to serve. */
export function startCandidates(
  bestOf: BestOfChains | undefined,
  request: ChainRequest,
  running: ChainOptions,
  signal: AbortSignal,
): (first: Trajectory) => Promise<Trajectory> {
  const alone = request.continues !== undefined || request.clientTools.length > 0;
  if (!bestOf || bestOf.n < 2 || alone) return async (first) => first;
  const seed = running.sampling?.seed ?? randomInt(2 ** 30);
  const others = Array.from({ length: bestOf.n - 1 }, (_, i) =>
    runChain(request.task, {
      ...running,
      id: `${request.id}.${i + 2}`,
      sampling: { ...running.sampling, seed: seed + i + 1 },
    }),
  );
  // A caller that disconnects stops them all.
  for (const other of others) other.catch(() => {});
  return async (first) => {
    const candidates = [first, ...(await Promise.all(others))];
    const { index, reason, usage } = await bestOf.choose(request.task, candidates, signal);
    const chosen = candidates[index ?? 0]!;
    return {
      ...chosen,
      id: first.id,
      usage: candidates.reduce((sum, candidate) => addUsage(sum, candidate.usage), usage),
      served: { ...chosen.served, bestOf: { n: bestOf.n, chosen: index, reason } },
    };
  };
}
