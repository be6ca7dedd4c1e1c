/**
 * One task, one team, one record. The manager plans, delegates and proposes an answer; a verifier must accept it. What
 * goes wrong (a Poor rating, a failed member, a low score) leads to a new plan, as often as the limits allow. Whatever
 * happens, the run ends with a record: a failed run is data.
 */

import { randomUUID } from "node:crypto";
import { estimateTokens } from "../base/count/token-estimate.ts";
import { checkOptions } from "../base/work/check-options.ts";
import { steadyNow } from "../base/work/steady-clock.ts";
import { errorEnding } from "../core/ending.ts";
import { isAbort, UsageError } from "../core/errors.ts";
import { changeTexts } from "../core/json-value.ts";
import type { ChatModel, Model, Prices } from "../core/model.ts";
import type { Task } from "../core/task.ts";
import type { TeamRun } from "../core/team-run.ts";
import type { Tool } from "../core/tool.ts";
import { priceOf } from "../core/usage.ts";
import { plainFor, toolText } from "../language/observation.ts";
import { defaultStyle } from "../language/profile.ts";
import { chatTools, smallTeam, standardTeam, type TeamMember } from "./agents.ts";
import { createMeter } from "./budget.ts";
import { manage, type Outcome } from "./manage.ts";
import { recordRun } from "./record-run.ts";
import { asChatModel, type RolePlayer } from "./role.ts";
import { takeTurns } from "./take-turns.ts";
import type { TeamEvent, WorkSession } from "./work-session.ts";

export interface TeamOptions {
  /** Who plays which role; `default` plays the rest. */
  roles: Readonly<Record<string, RolePlayer>>;
  tools: readonly Tool[];
  /**
   * `agents-as-tools` (a manager delegates, isolated contexts), `handoff` (a manager delegates, one shared history) or
   * `in-turn` (one shared history, the rules say whose turn it is). Default `in-turn` for a model whose name says that it
   * has at most four billion weights, `agents-as-tools` for others.
   */
  topology?: "agents-as-tools" | "handoff" | "in-turn";
  /** The members; the standard or the small team over the tools by default. */
  team?: readonly TeamMember[];
  /** Whether a verifier must accept the answer; true by default. */
  verify?: boolean;
  /** Never exceeded; tokens are prompt and completion tokens of all calls, exact where they can be counted beforehand. */
  budget?: { modelCalls?: number; toolCalls?: number; tokens?: number; costUsd?: number; wallMs?: number };
  limits?: {
    managerSteps?: number;
    agentSteps?: number;
    replans?: number;
    maxTokens?: number;
    /** Of one tool's output; the middle of a longer one is cut out. */
    outputCharacters?: number;
    /** Of the manager's history; beyond it older messages are replaced by a summary. */
    historyCharacters?: number;
  };
  /** Of models without a tokenizer of their own and of functions; an estimate by default. */
  countTokens?: (text: string) => number;
  /** Dollars per million tokens: of all models, or by model name. */
  prices?: Prices;
  temperature?: number;
  seed?: number;
  /**
   * Ask the models to stream, and tell listeners of text as it is written. Default: where the topology is `in-turn`, because a
   * server of a small model may be so slow that a whole reply looks like a stalled one.
   */
  stream?: boolean;
  signal?: AbortSignal;
  onEvent?: (event: TeamEvent) => void;
  /** Milliseconds; the wall clock by default. */
  now?: () => number;
  id?: string;
}

const standardTeams = new WeakMap<readonly Tool[], readonly TeamMember[]>();

/** Runs a team on a task and records all of it. Rejects only when the caller aborts or the options make no sense. */
export async function runTeam(task: Task, options: TeamOptions): Promise<TeamRun> {
  checkOptions("runTeam", options);
  const now = options.now ?? steadyNow;
  const startedAt = now();
  // A server may have to be asked for the name of its model.
  if (!options.topology) await (leadOf(options.roles) as Partial<Model> | undefined)?.prepare?.(options.signal);
  const { topology = defaultTopology(options) } = options;
  const session = openSession(task, { ...options, topology }, now, startedAt);
  let outcome: Outcome;
  try {
    outcome = await (topology === "in-turn" ? takeTurns : manage)(session, options);
  } catch (error) {
    if (session.signal.aborted && isAbort(error)) throw error;
    outcome = { answer: null, ending: errorEnding(error), replans: 0, scores: [] };
  }
  return session.record.finish({ ...outcome, wallMs: now() - startedAt });
}

/** The topology that the model which leads the team can play, by the size in its name ("qwen2.5-coder-1.5b", "135M"). */
export function defaultTopology({
  team,
  roles,
}: Pick<TeamOptions, "team" | "roles">): NonNullable<TeamOptions["topology"]> {
  const [, size, unit] = /(?:^|[^a-z0-9.])(\d+(?:\.\d+)?)([bm])(?![a-z0-9])/i.exec(leadOf(roles)?.name ?? "") ?? [];
  return !team && (unit?.toLowerCase() === "m" || Number(size) <= 4) ? "in-turn" : "agents-as-tools";
}

const leadOf = (roles: TeamOptions["roles"]) => roles["manager"] ?? roles["planner"] ?? roles["default"];

function openSession(
  task: Task,
  options: TeamOptions & Required<Pick<TeamOptions, "topology">>,
  now: () => number,
  startedAt: number,
): WorkSession {
  const inTurn = options.topology === "in-turn";
  const topology = options.topology === "in-turn" ? "handoff" : options.topology;
  const runId = options.id ?? `run-${randomUUID()}`;
  const countTokens = options.countTokens ?? estimateTokens;
  const members = options.team ?? (inTurn ? smallTeam(options.tools) : cachedStandardTeam(options.tools));
  const players = new Map<string, ChatModel>();
  for (const [role, player] of Object.entries(options.roles)) players.set(role, asChatModel(player, countTokens));
  for (const { role } of members) {
    if (!players.has(role) && !players.has("default")) {
      throw new UsageError(`no model or function for the role "${role}": give one in roles, or one as "default"`);
    }
  }
  const limits = {
    managerSteps: inTurn ? 6 : 30,
    agentSteps: 8,
    replans: inTurn ? 1 : 4,
    maxTokens: inTurn ? 512 : 4_096,
    outputCharacters: defaultStyle.maxCharacters,
    historyCharacters: 200_000,
    ...options.limits,
  };
  const { question, history, session, family } = task;
  const specials = [...new Set(players.values().flatMap(({ specialStrings = [] }) => specialStrings))];
  const plain = plainFor({ specialStrings: specials });
  const team = members.map((member) => plainMember(member, plain));
  const given = { question, ...(history && { history }), ...(session && { session }), ...(family && { family }) };
  return {
    task: {
      ...task,
      question: plain(question),
      ...(history && { history: history.map((message) => ({ ...message, content: plain(message.content) })) }),
    },
    runId,
    topology,
    team,
    playerOf: (role) => players.get(role) ?? players.get("default")!,
    record: recordRun({ id: runId, taskId: task.id, topology, ...given }),
    meter: createMeter(options.budget ?? {}, now, startedAt),
    countTokens,
    work: [],
    limits,
    show: toolText(
      team.flatMap((member) => member.tools),
      limits.outputCharacters,
      specials,
    ),
    priceOf: (model) => priceOf(options.prices, model.name),
    temperature: options.temperature,
    seed: options.seed,
    stream: options.stream ?? inTurn,
    signal: options.signal ?? new AbortController().signal,
    now,
    emit: options.onEvent ?? (() => {}),
  };
}

/** The member with what its tools say of themselves as plain text; itself where it is that already, because members are counted once. */
function plainMember(member: TeamMember, plain: (text: string) => string): TeamMember {
  const { instructions, tools } = member;
  const said = JSON.stringify([instructions, chatTools(member)]);
  if (plain(said) === said) return member;
  const clean = tools.map((tool) => ({
    ...tool,
    description: plain(tool.description),
    // A schema in zod is code of the user's own.
    inputSchema: "~standard" in tool.inputSchema ? tool.inputSchema : changeTexts(tool.inputSchema, plain),
  }));
  return { ...member, instructions: plain(instructions), tools: clean };
}

/** Members are made once per list of tools, so that their prompts and schemas are hashed and counted once. */
function cachedStandardTeam(tools: readonly Tool[]): readonly TeamMember[] {
  let team = standardTeams.get(tools);
  if (!team) standardTeams.set(tools, (team = standardTeam(tools)));
  return team;
}
