/** Runs the tools that a turn calls for and appends what they returned, in the order of the calls. */

import { capText } from "../language/observation.ts";
import { type ChainRun, observe, record } from "./chain-run.ts";
import type { Moves } from "./moves.ts";
import { runToolStep } from "./tool-step.ts";

/** Every call gets its observation: the tool's result, or why it was refused. */
export async function answerCalls(run: ChainRun, { calls, refused }: Moves): Promise<void> {
  const { setup, usage, task, id } = run;
  const step = usage.modelCalls - 1;
  const profile = setup.options.profile;
  const began = setup.clock();
  const accepted = calls.filter((_, index) => !refused.has(index));
  const reports = await runToolStep(accepted, {
    tools: setup.tools,
    earlier: run.earlier,
    step,
    budget: setup.limits.maxToolCalls - usage.toolCalls,
    timeoutMs: setup.limits.toolTimeoutMs,
    remainingMs: Math.max(1, setup.limits.maxWallMs - run.elapsedMs()),
    context: {
      trajectoryId: id,
      taskId: task.id,
      question: task.question,
      thought: run.context.segments.findLast((segment) => segment.tag === profile.think)?.text,
    },
    signal: run.signal,
    neutralise: setup.neutralise,
    clock: setup.clock,
    recorded: (index) => run.replay.tools.get(`${step}:${index}`),
    onOutcome: (index, outcome) => record(run, { type: "tool", call: step, index, ...outcome }),
    onCall: run.emit && ((callId, tool, input) => run.emit!({ type: "tool-call", callId, tool, input })),
    onResult:
      run.emit &&
      ((callId, { tool, ok, output, ms }) => run.emit!({ type: "tool-result", callId, tool, ok, output, ms })),
  });
  usage.toolMs += setup.clock() - began;
  for (let index = 0, next = 0; index < calls.length; index++) {
    const problem = refused.get(index);
    if (problem !== undefined) {
      observe(run, problem, "runtime");
      continue;
    }
    const { text, call, executed } = reports[next++]!;
    usage.toolCalls += executed;
    const capped = capText(text, setup.limits.maxObservationTokens, setup.count);
    observe(
      run,
      capped.text,
      "tool",
      capped.cutCharacters > 0 ? { ...call, cutCharacters: capped.cutCharacters } : call,
    );
  }
}
