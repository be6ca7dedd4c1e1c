/** The chain as a stream of events, for whoever wants to show it while it happens. */
import { checkOptions, optionNames } from "../base/work/check-options.ts";
import type { ChainEvent } from "../core/events.ts";
import type { Task } from "../core/task.ts";
import { type ChainOptions, chainParts } from "./chain-options.ts";
import { runChain } from "./run-chain.ts";

const streamChainNames = optionNames<ChainOptions>()(
  "model tools clientTools from results profile limits enforcement sampling systemPrompt id session journal replay prices compaction policyVersion meta signal onEvent clock",
);

/** Yields every event of the chain; the last is `chain-end` with the trajectory. Leaving the loop early stops the chain. */
export async function* streamChain(task: Task, options: ChainOptions): AsyncGenerator<ChainEvent> {
  checkOptions("streamChain", options, streamChainNames, chainParts);
  const events: ChainEvent[] = [];
  let wake: () => void = () => {};
  let finished = false;
  const controller = new AbortController();
  const running = runChain(task, {
    ...options,
    signal: AbortSignal.any([controller.signal, ...(options.signal ? [options.signal] : [])]),
    onEvent(event) {
      options.onEvent?.(event);
      events.push(event);
      wake();
    },
  }).finally(() => {
    finished = true;
    wake();
  });
  running.catch(() => {});
  try {
    for (;;) {
      while (events.length > 0) yield events.shift()!;
      if (finished) break;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    await running;
  } finally {
    controller.abort();
  }
}
