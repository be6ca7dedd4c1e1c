/** Tasks, profiles, tools, chains, models, errors: what every user of the package touches. Every export is named here, one by one; what is not here is not public. */

export type { RequestLine } from "./base/http/guard.ts";
export type { ChainOptions, Sampling } from "./chain/chain-options.ts";
export type { CompactionOptions } from "./chain/compaction.ts";
export type { Limits } from "./chain/limits.ts";
export { replayedTools } from "./chain/replayed-tools.ts";
export { runChain, streamChain } from "./chain/run-chain.ts";
export { type ChainsOptions, runChains } from "./chain/run-chains.ts";
export type { ToolSet } from "./chain/tool-set.ts";
export { defineConfig } from "./cli/define-config.ts";
export type { Config } from "./cli/settings/index.ts";
export type { ChainRecord } from "./core/chain-record.ts";
export type { Ending } from "./core/ending.ts";
export type {
  Engine,
  EngineCapabilities,
  Example,
  ForwardResult,
  LossSpec,
  OptimizerStep,
  Policy,
  Sample,
  SampleRequest,
  Sampler,
} from "./core/engine.ts";
export { CoaError, type ErrorOptions, ToolError } from "./core/errors.ts";
export type { ChainEvent, OnProgress } from "./core/events.ts";
export type { Grade, Grader, Reward, RewardResult } from "./core/grader.ts";
export type { Journal } from "./core/journal.ts";
export type { Message, ToolCall } from "./core/message.ts";
export type {
  CallUsage,
  ChatModel,
  ChatReply,
  ChatRequest,
  ContinueEvent,
  ContinueRequest,
  Model,
  Price,
  Prices,
} from "./core/model.ts";
export type { ModelUse } from "./core/model-use.ts";
export type { Profile, ToolDescription } from "./core/profile.ts";
export type {
  Sandbox,
  SandboxLimits,
  SandboxRequest,
  SandboxResult,
} from "./core/sandbox.ts";
export type { System, SystemResult } from "./core/system.ts";
export { defineTask, type Task } from "./core/task.ts";
export type { TeamAgent, TeamRun, TeamStep, TeamToolCall } from "./core/team-run.ts";
export type { Tokenizer } from "./core/tokenizer.ts";
export {
  defineTool,
  type JsonSchema,
  type StandardSchema,
  type Tool,
  type ToolContext,
} from "./core/tool.ts";
export { type Segment, type Trajectory, trajectoryText } from "./core/trajectory.ts";
export { emptyUsage, type Usage } from "./core/usage.ts";
export { defineSystem } from "./evaluate/define-system.ts";
export { defineProfile } from "./language/profile.ts";
export { builtInProfiles, codeProfile, mhqaProfile, webProfile } from "./language/profiles.ts";
export { systemPrompt } from "./language/system-prompt.ts";
export type { KnownTool } from "./language/with-tools.ts";
export type { DistillReport } from "./report/distill-text.ts";
export type {
  Comparison,
  ComparisonRow,
  Costs,
  Estimate,
  PairedComparison,
  Summary,
} from "./report/figures.ts";
