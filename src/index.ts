/** Tasks, profiles, tools, chains, models, errors: what every user of the package touches. Every export is named here, one by one; what is not here is not public. */

export { limitedModel } from "./base/work/limited-model.ts";
export { type Limiter, type LimiterOptions, limiter } from "./base/work/limiter.ts";
export { type ModelWrapper, wrapModel } from "./base/work/wrap-model.ts";
export type { ChainOptions, ClientResult, Enforcement, Sampling } from "./chain/chain-options.ts";
export { type ChainRecord, chainRecordSchema } from "./chain/chain-record.ts";
export type { CompactionOptions } from "./chain/compaction.ts";
export { defaultLimits, type LimitName, type Limits } from "./chain/limits.ts";
export { replayedTools } from "./chain/replayed-tools.ts";
export { runChain } from "./chain/run-chain.ts";
export { type ChainsOptions, runChains } from "./chain/run-chains.ts";
export { streamChain } from "./chain/stream-chain.ts";
export { defineConfig } from "./cli/define-config.ts";
export type { Config } from "./cli/settings/index.ts";
export type {
  Engine,
  EngineCapabilities,
  Example,
  LossSpec,
  OptimizerStep,
  PassOptions,
  Policy,
  Sample,
  SampleRequest,
  Sampler,
  StateRef,
} from "./core/engine.ts";
export { atBoundary, CoaError, ToolError, UsageError } from "./core/errors.ts";
export type { ChainEvent, OnProgress, ProgressEvent } from "./core/events.ts";
export type { Grade, Grader, Reward } from "./core/grader.ts";
export { type Journal, memoryJournal } from "./core/journal.ts";
export type { Message, ToolCall } from "./core/message.ts";
export type {
  ChatModel,
  ChatReply,
  ChatRequest,
  ContinueEvent,
  ContinueRequest,
  Model,
  Price,
  Prices,
} from "./core/model.ts";
export type { ChainLanguage, ObservationStyle, Profile, ToolDescription } from "./core/profile.ts";
export type { Sandbox, SandboxLevel, SandboxLimits, SandboxRequest, SandboxResult } from "./core/sandbox.ts";
export type { System, SystemResult } from "./core/system.ts";
export { defineTask, readTask, type Task, taskSchema } from "./core/task.ts";
export { readTeamRun, type TeamRun, teamRunSchema } from "./core/team-run.ts";
export type { Tokenizer } from "./core/tokenizer.ts";
export { defineTool, type Tool, type ToolContext } from "./core/tool.ts";
export {
  contextVersions,
  readTrajectory,
  type Segment,
  type Trajectory,
  trajectorySchema,
  trajectoryText,
} from "./core/trajectory.ts";
export { addUsage, emptyUsage, type Usage } from "./core/usage.ts";
export { defineSystem } from "./evaluate/define-system.ts";
export { type BodyFormat, defineProfile, type Gate, startState, type TagSpec } from "./language/profile.ts";
export {
  builtInProfiles,
  codeProfile,
  mhqaProfile,
  multiProfile,
  webProfile,
  wideProfile,
} from "./language/profiles.ts";
export { systemPrompt } from "./language/system-prompt.ts";
export { validateSegments } from "./language/validate.ts";
export { type KnownTool, withTools } from "./language/with-tools.ts";
export type { DistillReport } from "./report/distill-report.ts";
export type { Comparison, Costs, Estimate, PairedComparison, Summary } from "./report/figures.ts";
