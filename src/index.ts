/** Tasks, profiles, tools, chains, models, errors: what every user of the package touches. Every export is named here, one by one; what is not here is not public. */

export type { CountTokens } from "./base/count/token-estimate.ts";
export type { RequestLine } from "./base/http/guard.ts";
export type { Listening } from "./base/http/listen.ts";
export type { ChainOptions, ClientResult, Enforcement, Sampling } from "./chain/chain-options.ts";
export { type ChainRecord, chainRecordSchema } from "./chain/chain-record.ts";
export type { CompactionOptions } from "./chain/compaction.ts";
export type { Limits } from "./chain/limits.ts";
export { replayedTools } from "./chain/replayed-tools.ts";
export { runChain, streamChain } from "./chain/run-chain.ts";
export { type ChainsOptions, runChains } from "./chain/run-chains.ts";
export type { NamelessTool, ToolSet } from "./chain/tool-set.ts";
export { defineConfig } from "./cli/define-config.ts";
export type { Config } from "./cli/settings/index.ts";
export type { Ending } from "./core/ending.ts";
export type {
  Engine,
  EngineCapabilities,
  Example,
  ForwardResult,
  LossCapability,
  LossSpec,
  OptimizerStep,
  PassOptions,
  Policy,
  Sample,
  SampleRequest,
  Sampler,
  StateRef,
} from "./core/engine.ts";
export { type Boundary, CoaError, type ErrorOptions, type Hint, ToolError, UsageError } from "./core/errors.ts";
export type { ChainEvent, OnProgress, ProgressEvent } from "./core/events.ts";
export type { Grade, Grader, Reward, RewardResult } from "./core/grader.ts";
export type { Journal } from "./core/journal.ts";
export type { Message, ToolCall } from "./core/message.ts";
export type {
  CallUsage,
  ChatModel,
  ChatReply,
  ChatRequest,
  ChatTool,
  ContinueEvent,
  ContinueRequest,
  Model,
  ModelCapabilities,
  Price,
  Prices,
} from "./core/model.ts";
export type { ModelUse } from "./core/model-use.ts";
export type { Profile, ToolDescription } from "./core/profile.ts";
export type {
  Sandbox,
  SandboxLevel,
  SandboxLimits,
  SandboxRequest,
  SandboxResult,
  SandboxVerdict,
} from "./core/sandbox.ts";
export type { System, SystemResult, SystemRunOptions } from "./core/system.ts";
export { type CodeTests, defineTask, readTask, type Task, type TaskKind } from "./core/task.ts";
export {
  readTeamRun,
  type TeamAgent,
  type TeamRun,
  type TeamStep,
  type TeamToolCall,
  teamRunSchema,
} from "./core/team-run.ts";
export type { Tokenizer } from "./core/tokenizer.ts";
export {
  defineTool,
  type Execute,
  type JsonSchema,
  type StandardSchema,
  type Tool,
  type ToolContext,
  type ToolDefinition,
} from "./core/tool.ts";
export { readTrajectory, type Segment, type Trajectory, trajectoryText, type Violation } from "./core/trajectory.ts";
export { emptyUsage, type Usage } from "./core/usage.ts";
export { defineSystem } from "./evaluate/define-system.ts";
export { defineProfile } from "./language/profile.ts";
export { builtInProfiles, codeProfile, mhqaProfile, webProfile } from "./language/profiles.ts";
export { systemPrompt } from "./language/system-prompt.ts";
export { validateSegments } from "./language/validate.ts";
export { type KnownTool, withTools } from "./language/with-tools.ts";
export type { ReportOptions } from "./report/comparison-html.ts";
export type { DistillReport, StageReport } from "./report/distill-report.ts";
export type {
  Comparison,
  ComparisonRow,
  Costs,
  Estimate,
  GroupFigures,
  PairedComparison,
  Summary,
} from "./report/figures.ts";
export type { RenderPrompt } from "./tokenizers/chat-template.ts";
