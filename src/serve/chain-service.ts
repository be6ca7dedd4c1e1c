/**
 * Runs chains for callers: at most so many at a time, the others wait in a queue of limited length; a caller that
 * leaves stops its chain, model and tools included. Finished chains are passed to `onTrajectory`.
 */

import { randomInt } from "node:crypto";
import { Refusal } from "../base/http/refusal.ts";
import { type Release, semaphore } from "../base/work/limiter.ts";
import type { ChainOptions } from "../chain/chain-options.ts";
import { defaultLimits, type Limits } from "../chain/limits.ts";
import { runChain } from "../chain/run-chain.ts";
import { most } from "../core/budget.ts";
import type { ChainEvent } from "../core/events.ts";
import { defined } from "../core/json-value.ts";
import type { Model } from "../core/model.ts";
import type { Profile } from "../core/profile.ts";
import type { Task } from "../core/task.ts";
import type { JsonSchema, Tool } from "../core/tool.ts";
import { saidText, type Trajectory } from "../core/trajectory.ts";
import type { Usage } from "../core/usage.ts";
import { readJsonAnswer } from "../language/json-schema.ts";
import { plainFor } from "../language/observation.ts";
import { advance, startState } from "../language/profile.ts";
import { systemPrompt } from "../language/system-prompt.ts";
import { type KnownTool, withTools } from "../language/with-tools.ts";
import type { ChainRequest } from "./chain-request.ts";
import { asCall } from "./client-tools.ts";
import type { Caller } from "./keys.ts";
import type { Seal } from "./sealed-state.ts";
import { type ServedEnd, type ServedEvent, servedEvents } from "./served-events.ts";
import { cutAtStops } from "./stop-sequences.ts";
import type { SuspendedChain, SuspendedChains } from "./store/suspended-chains.ts";

/** What is kept of a chain that ended, and what its caller is shown. */
export type Finish = (
  trajectory: Trajectory,
  request: ChainRequest,
  chain: { profile: Profile; signal: AbortSignal },
) => Promise<{ kept: Trajectory; served: Trajectory }>;

export interface ChainServiceOptions {
  model: Model;
  profile: Profile;
  toolsOf: (task: Task) => readonly Tool[];
  /** What chains of this model are run with; what a request sets takes precedence, within these limits. */
  defaults?: Pick<ChainOptions, "systemPrompt" | "limits" | "enforcement" | "sampling" | "prices">;
  /** The name under which clients ask for the model; the model's own by default. */
  name?: string;
  /** Chains at a time; 16 by default. */
  maxChains?: number;
  /** Chains that may wait; 256 by default. More are refused with 429. */
  maxQueue?: number;
  /** May change a chain that has ended, before it is shown. @internal */
  finish?: Finish;
  /** Chains that may be kept are found again by their ids, also where no later turn needs them. */
  recall?: boolean;
  /** Whether chains run with the sampling of `defaults` whatever a request asks for: a promise holds for the settings it was measured with. @internal */
  fixedSampling?: boolean;
  /** Called for every chain that has ended, whether its caller lets it be kept, and what its last request used. */
  onTrajectory?: (trajectory: Trajectory, mayKeep: boolean, usage: Usage) => void;
  /** Whether clients may bring tools of their own; by default where the model is told of its tools in a prompt. */
  clientTools?: boolean;
  /** What happens to images, sound and files in a request: refused by default, or left out. */
  media?: "refuse" | "ignore";
}

/** A chain that has its place: runs it, tells what happens as it happens, and gives its end. It is called once. */
export type ServedChain = (tell: (event: ServedEvent) => void) => Promise<ServedEnd>;

export type ChainService = ReturnType<typeof chainService>;

const mostSchemas = 64;

/** A service over one model with its profile and tools; chains that a client is to continue wait in `suspended`. */
export function chainService(
  options: ChainServiceOptions,
  suspended: SuspendedChains,
  reserve: (owner: string) => Promise<() => void> = async () => () => {},
) {
  const { model, profile, defaults = {}, maxQueue = 256 } = options;
  const name = options.name ?? model.name;
  const places = semaphore(options.maxChains ?? 16);

  function toolsFor({ clientTools, task }: Pick<ChainRequest, "clientTools" | "task">): readonly Tool[] {
    if (clientTools.length > most.tools)
      throw new Refusal(400, `${clientTools.length} function tools: at most ${most.tools} are taken`, {
        code: "too_many_tools",
        param: "tools",
      });
    return options.toolsOf(task).filter((tool) => !clientTools.some(({ name }) => name === tool.name));
  }

  const changed = new Map<string, Profile>();
  /**
   * The profile whose answer is JSON in the schema of the request, and whose tags of ours don't stand for tools of the client
   * that have the same name; one object for each, because much is kept by it.
   */
  function profileOf({ schema, clientTools }: Pick<ChainRequest, "schema" | "clientTools">): Profile {
    const taken = profile.tags.flatMap(({ tool }) => clientTools.find(({ name }) => name === tool)?.name ?? []);
    if (!schema && taken.length === 0) return profile;
    const key = JSON.stringify([schema, taken]);
    const known = changed.get(key);
    if (known) return known;
    const tags = profile.tags.map((tag) => {
      if (tag.tool && taken.includes(tag.tool)) return { ...tag, tool: `${tag.tool} of the server` };
      return schema && tag.name === profile.answer ? { ...tag, body: { kind: "schema" as const, schema } } : tag;
    });
    if (changed.size >= mostSchemas) changed.delete(changed.keys().next().value!);
    const made = { ...profile, tags };
    changed.set(key, made);
    return made;
  }

  /** What a request runs with and how its events are shown, worked out once. */
  function resolve(request: ChainRequest, seal: Seal, signal: AbortSignal) {
    const { continues, instructions, owner, session, stop, conversation } = request;
    const tools = toolsFor(request);
    // A call that is demanded is the answer: the model calls its own tools on the way.
    const clientTools = request.forced && tools.length > 0 ? [] : request.clientTools;
    const known: KnownTool[] = [...tools, ...clientTools];
    const asked = profileOf(request);
    const exact = withTools(asked, known);
    const { systemPrompt: prompt } = defaults;
    const from = continues?.chain.trajectory;
    /** The chain as it waits for its client. */
    const suspend = (trajectory: Trajectory): SuspendedChain => {
      return { owner, clientTools, session, conversation, trajectory };
    };
    // An answer that is checked or replaced when the chain has ended can't be sent before.
    const early = request.stream && request.schema === undefined && options.finish === undefined;
    const project = servedEvents(exact, {
      ...(early && {
        from: (from?.segments ?? []).reduce((state, segment) => advance(exact, state, segment), startState()),
      }),
      clientTools: new Set(clientTools.map((tool) => tool.name)),
      before: from?.usage,
      ...(request.carryState && { state: (trajectory) => seal.close(suspend(trajectory), owner) }),
    });
    const cut = stop.length > 0 ? cutAtStops(stop) : undefined;
    return {
      options: {
        ...defaults,
        id: request.id,
        session,
        model,
        profile: asked,
        tools: [...tools],
        ...(clientTools.length > 0 && { clientTools }),
        ...(continues && { from, results: continues.results }),
        // A model of our own was taught with the bare question: it has never seen instructions.
        ...(prompt !== false &&
          instructions && {
            systemPrompt: `${prompt ?? systemPrompt(exact, known as Tool[])}\n\n${model.tokenizer ? instructions : plainFor(model)(instructions)}`,
          }),
        limits: within(defaults.limits ?? {}, askedLimits(request, from?.usage, model)),
        // An engine in this process draws the same again where it is given no seed.
        sampling: {
          ...(model.tokenizer && { seed: randomInt(2 ** 31) }),
          ...defaults.sampling,
          ...(options.fixedSampling ? defined({ seed: request.sampling.seed }) : request.sampling),
        },
        signal,
      },
      suspend,
      project: (event: ChainEvent) => (cut ? project(event).flatMap(cut) : project(event)),
    };
  }

  async function place(caller: Caller, signal: AbortSignal): Promise<Release> {
    const { owner } = caller;
    const { waiting, share } = places.shareOf(owner, maxQueue);
    if (waiting >= share) {
      throw new Refusal(429, "the server is busy: try again shortly", {
        code: "queue_full",
        headers: { "retry-after": "2" },
      });
    }
    const asked = performance.now();
    const release = await places.acquire(signal, owner);
    caller.queuedMs = performance.now() - asked;
    try {
      const settled = await reserve(owner);
      return () => {
        settled();
        release();
      };
    } catch (error) {
      release();
      throw error;
    }
  }

  return {
    name,
    profile,
    model,
    /** Whether clients may bring tools of their own. */
    clientTools: options.clientTools ?? defaults.systemPrompt !== false,
    /** Whether the model is told what to do in a prompt; others were taught it. */
    prompted: defaults.systemPrompt !== false,
    media: options.media ?? "refuse",
    suspended,
    profileFor: (request: Pick<ChainRequest, "clientTools" | "task">): Profile =>
      withTools(profileOf(request), [...toolsFor(request), ...request.clientTools]),
    get running(): number {
      return places.held;
    },
    get waiting(): number {
      return places.waiting;
    },
    /** Whether a name is one of this service's model. */
    knows: (asked: string | undefined): boolean =>
      asked === undefined || asked === name || asked === model.name || asked === "coa",
    /** Takes a place, or refuses with 429; callers share the places and the queue evenly. */
    place,
    /** Takes a place, or refuses with 429. The signal stops the chain. */
    async start(request: ChainRequest, signal: AbortSignal): Promise<ServedChain> {
      await model.prepare?.(signal).catch(() => {}); // so that it is known what its server reads as special; the chain says what broke
      const chain = resolve(request, suspended.seal, signal);
      const release = await place(request.caller, signal);
      return async (tell) => {
        try {
          const onEvent = (event: ChainEvent) => {
            if (event.type !== "chain-end") for (const served of chain.project(event)) tell(served);
          };
          const ran = await runChain(request.task, { ...chain.options, onEvent });
          const { owner } = request;
          const trajectory = owner === "anyone" ? ran : { ...ran, owner };
          const ended = await options.finish?.(trajectory, request, { profile, signal });
          for (const event of wayOf(ended?.served)) tell(event);
          const shown = inForm(ended?.served ?? trajectory, request.schema);
          const told = request.forced ? asCall(shown, request.forced) : withCutAnswer(shown, profile.answer);
          const served = chain.project({ type: "chain-end", trajectory: told });
          const end = served.pop() as ServedEnd;
          const kept = chain.suspend(trajectory);
          const where = request.store ? "disk" : "memory";
          // The client gets its call only when the chain is stored.
          if (trajectory.pending) await suspended.save(kept, where);
          const turn = request.turnOf?.(end.trajectory);
          const recall = options.recall === true && request.keep && !trajectory.pending;
          if (turn || recall) {
            const answered = { ...kept, trajectory: ended?.kept ?? trajectory, turn, kept: recall };
            await suspended.save(answered, where).catch(() => {}); // the answer counts
          }
          options.onTrajectory?.(ended?.kept ?? shown, request.keep, end.usage);
          for (const event of served) tell(event);
          return end;
        } finally {
          release();
        }
      };
    },
  };
}

/** Marks in every API that the answer is not the model's own, or that the model was not sure of it. */
function* wayOf({ served }: Trajectory = {} as Trajectory): Generator<ServedEvent> {
  const { via = "model", reason } = served?.cascade ?? {};
  if (via === "model") return;
  yield { type: "role-start", role: "escalation" };
  yield { type: "role-delta", text: `${via === "old" ? "answered by the old system" : "the old system is down, answered by the model"}: ${reason}` }; // biome-ignore format: one sentence
  yield { type: "role-end" };
}

/** The answer as bare JSON; one that does not follow the schema even after it was refused once has failed. */
function inForm(trajectory: Trajectory, schema: JsonSchema | undefined): Trajectory {
  if (!schema || trajectory.answer === null) return trajectory;
  const read = readJsonAnswer(schema, trajectory.answer);
  if ("json" in read) return { ...trajectory, answer: read.json };
  const detail = `its answer does not follow the schema: ${read.problem}`;
  return { ...trajectory, answer: null, ending: { reason: "error", detail, code: "invalid_answer" } };
}

/** The chain with as much of its answer as a limit let it write; in the chain that is kept this is not an answer. */
function withCutAnswer(trajectory: Trajectory, tag: string): Trajectory {
  const last = trajectory.segments.at(-1);
  const cut = trajectory.answer === null && trajectory.ending.reason === "limit" && last?.tag === tag;
  return cut ? { ...trajectory, answer: saidText(last) } : trajectory;
}

/** What a request asks for is counted from where it begins, not from where its chain began. */
function askedLimits({ limits, noTools }: ChainRequest, before: Usage | undefined, model: Model): Partial<Limits> {
  const { maxCompletionTokens, maxSteps, maxToolCalls } = limits;
  // A limit leaves room for work before the answer; a model of our own is never asked for it.
  const quarter =
    model.tokenizer || maxCompletionTokens === undefined ? undefined : Math.floor(maxCompletionTokens / 4);
  // No request for an answer fits into a few tokens: all of them are for what the model writes first.
  const reserve = quarter !== undefined && quarter < 8 ? 0 : quarter;
  const from = (limit: number | undefined, used = 0) => (limit === undefined ? undefined : limit + used);
  return defined({
    ...limits,
    maxCompletionTokens: from(maxCompletionTokens, before?.completionTokens),
    maxSteps: from(maxSteps, before?.modelCalls),
    answerReserve: reserve === undefined ? undefined : Math.min(reserve, defaultLimits.answerReserve),
    maxToolCalls: from(noTools ? 0 : maxToolCalls, before?.toolCalls),
  });
}

/** What a caller asks for, never above what the server allows. */
function within<L extends Partial<Record<string, number>>>(most: L, asked: L): L {
  const limits: Record<string, number | undefined> = { ...most };
  for (const [key, value] of Object.entries(asked)) limits[key] = Math.min(value ?? Infinity, most[key] ?? Infinity);
  return limits as L;
}
