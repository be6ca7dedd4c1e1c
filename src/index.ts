/** The public surface. Every export is named here, one by one; what is not here is not public. */

// Configuration of the command line.
export { defineConfig } from "./cli/load-config.ts";
// The vocabulary.
export type { Engine, EngineCapabilities, LossSpec, OptimizerStep, Sample, SampleRequest } from "./core/engine.ts";
export { atBoundary, CoaError, ToolError, UsageError } from "./core/errors.ts";
export type { ChainEvent, OnProgress, ProgressEvent } from "./core/events.ts";
export type { Example } from "./core/example.ts";
export type { Grade, Grader } from "./core/grader.ts";
export { type Journal, memoryJournal } from "./core/journal.ts";
export type { Message, ToolCall } from "./core/message.ts";
export type { ChatModel, ChatReply, ChatRequest, ContinueEvent, ContinueRequest, Model, Price } from "./core/model.ts";
export {
  advance,
  allowedNext,
  type BodyFormat,
  defineProfile,
  type Gate,
  type Profile,
  startState,
  stopStrings,
  type TagSpec,
} from "./core/profile.ts";
export { builtInProfiles, codeProfile, mhqaProfile, multiProfile, webProfile } from "./core/profiles.ts";
export type { Sandbox, SandboxLevel, SandboxLimits, SandboxRequest, SandboxResult } from "./core/sandbox.ts";
export { systemPrompt } from "./core/system-prompt.ts";
export { defineTask, type Task, taskSchema } from "./core/task.ts";
export { type TeamRun, teamRunSchema } from "./core/team-run.ts";
export type { Tokenizer } from "./core/tokenizer.ts";
export { defineTool, type Tool, type ToolContext } from "./core/tool.ts";
export { type Segment, type Trajectory, trajectorySchema, trajectoryText } from "./core/trajectory.ts";
export { addUsage, emptyUsage, type Usage } from "./core/usage.ts";
export { validateSegments } from "./core/validate.ts";
// The engine inside Node.
export {
  type EmbeddedEngine,
  type EmbeddedEngineOptions,
  openEmbeddedEngine,
} from "./engines/embedded/embedded-engine.ts";
export { type ModelConfig, type ModelSize, modelConfig } from "./engines/embedded/model/config.ts";
// Files.
export { jsonlJournal, openJsonl } from "./store/open-jsonl.ts";
export { readAllJsonl, readJsonl } from "./store/read-jsonl.ts";
export { openWorkspace, type Workspace } from "./store/workspace.ts";
export { writeFolder } from "./store/write-folder.ts";
// Training.
export { copyDrills, inSequence } from "./train/copy-drills.ts";
export { type ExampleSource, fixedExamples } from "./train/example-source.ts";
export { outcomeReward, type Reward } from "./train/reward.ts";
export { selectTasks } from "./train/select-tasks.ts";
export { dapoLoss, type RlOptions, type RlResult, trainRl } from "./train/train-rl.ts";
export { type SftOptions, type SftResult, trainSft } from "./train/train-sft.ts";
