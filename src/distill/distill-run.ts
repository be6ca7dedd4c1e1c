/**
 * One team run becomes one chain, by rules alone: the same run always gives the same chain, tool inputs, observations and
 * the answer are taken over byte for byte, and the result obeys the profile or is not returned at all.
 */

import { type CountTokens, estimateTokens, messageTokens } from "../base/count/token-estimate.ts";
import { checkOptions } from "../base/work/check-options.ts";
import { CoaError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { ToolDescription } from "../core/profile.ts";
import type { TeamRun, TeamStep } from "../core/team-run.ts";
import { type Distilled, type Segment, type Trajectory, writtenForm } from "../core/trajectory.ts";
import { emptyUsage, type Usage } from "../core/usage.ts";
import { callArguments } from "../language/call-body.ts";
import { type Profile, toolTags } from "../language/profile.ts";
import { recordedCalls, recordedTools } from "../language/recorded-tools.ts";
import { systemPrompt } from "../language/system-prompt.ts";
import { tagOfTool } from "../language/tool-tags.ts";
import { validateSegments } from "../language/validate.ts";
import { withTools } from "../language/with-tools.ts";
import { ConversionError, type LayoutOptions } from "./chain-draft.ts";
import { layOutChain } from "./lay-out-chain.ts";
import { readMoves } from "./read-moves.ts";
import { keepReports } from "./restated.ts";

export interface DistillRunOptions extends LayoutOptions {
  profile: Profile;
  /** The prompt of the chain: the profile's own by default, another text, or `false` for the bare question. */
  systemPrompt?: string | false;
  /** The tools that chains will run with: their descriptions go into the profile's prompt, as the runtime puts them there. */
  tools?: readonly (Pick<ToolDescription, "name" | "description"> & Partial<ToolDescription>)[];
  /** Counts tokens of the chain, for the report (default: four characters to a token). */
  countTokens?: (text: string) => number;
}

/** A chain, or why a run could not be converted: the rule, and the step of the run where it happened. */
export type Conversion =
  | { trajectory: Trajectory; failure?: undefined }
  | { trajectory?: undefined; failure: { rule: string; step: string; message: string } };

/** Converts a run, or says which step could not be converted. */
export function distillRun(run: TeamRun, options: DistillRunOptions): Conversion {
  checkOptions("distillRun", options);
  const profile = withOwnTools(run, options);
  const last = run.steps.at(-1)?.id ?? "";
  const fail = (rule: string, step: string, message: string): Conversion => ({ failure: { rule, step, message } });
  if (run.answer === null || run.answer.trim() === "")
    return fail("answer-missing", last, run.ending.detail ?? "the run gave no answer");
  try {
    const moves = keepReports(readMoves(run, { parallel: profile.maxParallelCalls > 1 }), run, profile);
    const laidOut = layOutChain(moves, run.answer, profile, { fill: true, ...options });
    const violation = validateSegments(profile, laidOut.segments)[0];
    if (violation) {
      return fail(violation.rule, last, `segment ${violation.segment}: ${violation.message}`);
    }
    const prompt = chainPrompt(run, { ...options, profile });
    const { segments: bare, unshown, ...counts } = laidOut;
    const segments = withOrigin(run, bare);
    return {
      trajectory: {
        version: 1,
        id: `distilled-${run.id}`,
        taskId: run.taskId ?? run.id,
        profile: profile.name,
        ...languageOf(run, profile, options),
        model: teacherOf(run),
        prompt,
        segments,
        answer: run.answer,
        ending: { reason: "answered" },
        usage: chainUsage(prompt, segments, options.countTokens),
        violations: [],
        source: { kind: "distilled", id: run.id },
        distilled: { ...counts, topology: run.topology, source: run.source, team: teamUsage(run) },
        leftOut: leftOutSteps(run, segments, unshown),
        ...(run.family !== undefined && { family: run.family }),
        ...(run.session !== undefined && { session: run.session }),
      },
    };
  } catch (error) {
    if (error instanceof ConversionError) return fail(error.rule, error.step, error.message);
    throw new CoaError("format", `run ${run.id} can't be converted: ${(error as Error).message}`, { cause: error });
  }
}

/** The profile with a tag for each recorded tool that none of its tags can call. */
function withOwnTools(run: TeamRun, { profile, toolTags: mapped }: DistillRunOptions): Profile {
  const inputs = Map.groupBy(recordedCalls(run), (call) => call.name);
  const unknown = recordedTools(run).filter(({ name }) =>
    inputs.get(name)!.some((call) => !tagOfTool(profile, name, mapped, callArguments(call.arguments))),
  );
  if (unknown.length === 0) return profile;
  const known = toolTags(profile).map((tag) => ({ name: tag.tool!, description: tag.job, inputSchema: {} }));
  return withTools(profile, [...known, ...unknown]);
}

/** What the model is given before it begins. */
function chainPrompt({ question, history = [] }: TeamRun, options: DistillRunOptions): Message[] {
  const asked: Message[] = [...history, { role: "user", content: question }];
  if (options.systemPrompt === false) return asked;
  return [{ role: "system", content: options.systemPrompt ?? systemPrompt(options.profile, options.tools) }, ...asked];
}

function teacherOf(run: TeamRun): string {
  const models = new Set(run.steps.flatMap((step) => (step.model ? [step.model] : [])));
  return [...models].join("+") || run.source;
}

/** What the run cost, beside the topology it was measured in. */
function teamUsage(run: TeamRun): Distilled["team"] {
  const { billedTokens, computedTokens, modelCalls, toolCalls } = run.usage;
  return { billedTokens, computedTokens, modelCalls, toolCalls, agents: run.agents.length };
}

/** The chain's language by value, where it is made from what was recorded: it has no name elsewhere. */
function languageOf(run: TeamRun, profile: Profile, options: DistillRunOptions): Pick<Trajectory, "language"> {
  if (profile !== options.profile) return { language: { profile, tools: recordedTools(run) } };
  const described = options.tools?.flatMap((tool) => (tool.inputSchema ? [tool as ToolDescription] : []));
  if (described && described.length > 0) return { language: { profile, tools: described } };
  // How many calls a turn may hold decides what of the chain is learned.
  return profile.maxParallelCalls > 1 ? { language: { profile, tools: recordedTools(run) } } : {};
}

/**
 * What a chain costs when a model decodes it. Computed: every token once, as one sequence in a cache. Billed: a server
 * without a cache charges, for each turn, everything before it and what is written. Tool time is not known here.
 */
export function chainUsage(
  prompt: readonly Message[],
  segments: readonly Segment[],
  countTokens: CountTokens = estimateTokens,
): Usage {
  const usage = emptyUsage();
  let context = prompt.reduce((sum, message) => sum + messageTokens(message, countTokens), 0);
  usage.computedTokens = context;
  let writing = false;
  for (const segment of segments) {
    const tokens = segment.tokens?.length ?? countTokens(writtenForm(segment));
    usage.computedTokens += tokens;
    if (segment.by === "model") {
      if (!writing) {
        usage.modelCalls++;
        usage.promptTokens += context;
      }
      usage.completionTokens += tokens;
    } else if (segment.by === "tool") usage.toolCalls++;
    writing = segment.by === "model";
    context += tokens;
  }
  usage.billedTokens = usage.promptTokens + usage.completionTokens;
  return usage;
}

/**
 * Where each segment of a distilled chain came from, and what became of every step of the team: it is shown by a
 * segment, or left out with a reason. So every step is accounted for.
 */
export function withOrigin(run: TeamRun, segments: readonly Segment[]): Segment[] {
  const steps = new Map(run.steps.map((step) => [step.id, step]));
  const began = run.steps.reduce(
    (first, { startedAt = first }) => Math.min(first, startedAt),
    Number.POSITIVE_INFINITY,
  );
  return segments.map((segment) => {
    // A chain that ends without any step of its own (an answer given from outside) hangs on the last step.
    const step = steps.get(segment.from?.step ?? "") ?? run.steps.at(-1);
    if (!step) return segment;
    // An observation has the time of its call, what a model wrote the time of its step.
    const { startedAt, endedAt } = segment.by === "tool" ? segment : step;
    const since = (time: number | undefined, name: string) => (time === undefined ? {} : { [name]: time - began });
    const times = { ...since(startedAt, "startedAt"), ...since(endedAt, "endedAt") };
    return { ...segment, ...times, from: { agent: step.agentId, step: step.id } };
  });
}

/** The steps that no segment shows, each with the reason. */
export function leftOutSteps(
  run: TeamRun,
  segments: readonly Segment[],
  unshown: ReadonlyMap<string, string>,
): NonNullable<Trajectory["leftOut"]> {
  const shown = new Set(segments.map((segment) => segment.from?.step));
  const missing = run.steps.filter((step) => !shown.has(step.id));
  return missing.map((step) => ({
    agent: step.agentId,
    step: step.id,
    reason: ownReason(step) ?? unshown.get(step.id) ?? otherReason(run, step),
  }));
}

/** Why a step has nothing to show, whatever the layout. */
function ownReason(step: TeamStep): string | undefined {
  if (step.error !== undefined) return "the model call failed";
  if (step.text.trim() === "" && !step.reasoning?.trim() && step.toolCalls.length === 0) return "an empty reply";
  return undefined;
}

function otherReason(run: TeamRun, step: TeamStep): string {
  const side = run.agents.find(({ id }) => id === step.agentId)?.side;
  if (side !== undefined) return `beside the work: ${side}`;
  const activates = (id: string) => run.agents.some((agent) => agent.parentCallId === id);
  if (step.toolCalls.some((call) => call.delegatesTo !== undefined || activates(call.id))) {
    return "a delegation: what the agent did is shown";
  }
  if (step.toolCalls.length > 0) return "a call that only moved control";
  if (step.move === "review" || step.move === "verify") return "asked again: a later reply took its place";
  return "later steps say what it says";
}
