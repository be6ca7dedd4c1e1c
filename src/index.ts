/** The public surface. Every export is named here, one by one; what is not here is not public. */

// Files.
export { type CallStore, type CallStoreOptions, openCallStore } from "./base/files/call-store.ts";
export { jsonlJournal, openJsonl } from "./base/files/open-jsonl.ts";
export { readAllJsonl, readJsonl } from "./base/files/read-jsonl.ts";
export { openWorkspace, type Workspace } from "./base/files/workspace.ts";
export { writeFolder } from "./base/files/write-folder.ts";
export { type Redact, redactSecrets } from "./base/redact/redact.ts";
// The chain: one model, many roles, real tools.
export type { ChainOptions, Enforcement, Sampling } from "./chain/chain-options.ts";
export { type ChainRecord, chainRecordSchema } from "./chain/chain-record.ts";
export { type CompactionOptions, summariseWith } from "./chain/compaction.ts";
export { defaultLimits, type LimitName, type Limits } from "./chain/limits.ts";
export { runChain } from "./chain/run-chain.ts";
export { type ChainsOptions, runChains } from "./chain/run-chains.ts";
export { streamChain } from "./chain/stream-chain.ts";
// Configuration of the command line.
export { defineConfig } from "./cli/load-config.ts";
export type { DistillReport } from "./core/distill-report.ts";
// The vocabulary.
export type {
  Engine,
  EngineCapabilities,
  LossSpec,
  OptimizerStep,
  Policy,
  Sample,
  SampleRequest,
  Sampler,
  StateRef,
} from "./core/engine.ts";
export { atBoundary, CoaError, ToolError, UsageError } from "./core/errors.ts";
export type { ChainEvent, OnProgress, ProgressEvent } from "./core/events.ts";
export type { Example } from "./core/example.ts";
export type { Comparison, Costs, Estimate, PairedComparison, Summary } from "./core/figures.ts";
export type { Grade, Grader } from "./core/grader.ts";
export { type Journal, memoryJournal } from "./core/journal.ts";
export { limitedModel } from "./core/limited-model.ts";
export { type Limiter, type LimiterOptions, limiter } from "./core/limiter.ts";
export type { Message, ToolCall } from "./core/message.ts";
export type { ChatModel, ChatReply, ChatRequest, ContinueEvent, ContinueRequest, Model, Price } from "./core/model.ts";
export type { ChainLanguage, ObservationStyle, Profile, ToolDescription } from "./core/profile.ts";
export type { Reward } from "./core/reward.ts";
export type { Sandbox, SandboxLevel, SandboxLimits, SandboxRequest, SandboxResult } from "./core/sandbox.ts";
export { defineSystem, type System, type SystemResult } from "./core/system.ts";
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
export { type ModelWrapper, wrapModel } from "./core/wrap-model.ts";
// Datasets: tokenizers, examples, exports.
export {
  type BuildDatasetOptions,
  buildDataset,
  type Dataset,
  type DatasetManifest,
  openDataset,
} from "./dataset/dataset-folder.ts";
export { type DatasetStats, datasetStats } from "./dataset/dataset-stats.ts";
export {
  type ExportFormat,
  type ExportOptions,
  type ExportResult,
  exportDataset,
  exportFormats,
} from "./dataset/export/export-dataset.ts";
export { splitSide } from "./dataset/split.ts";
export { sequenceToExample, type TrainingSequence, weightsOf } from "./dataset/training-sequence.ts";
export {
  type ExampleOptions,
  rolloutToExamples,
  trajectoryToExample,
  trajectoryToSequence,
} from "./dataset/trajectory-to-example.ts";
// Distillation: from team runs to chains worth learning from.
export { type DistillOptions, distill } from "./distill/distill.ts";
export type { DistillConfig, DistillPlugins } from "./distill/distill-config.ts";
export { type Conversion, type ConversionFailure, type DistillRunOptions, distillRun } from "./distill/distill-run.ts";
export { modelCheck } from "./distill/model-check.ts";
export { readOutcomes, readReport } from "./distill/read-distillation.ts";
export { type RewriteOptions, type Rewritten, rewriteThoughts } from "./distill/rewrite-thoughts.ts";
export {
  defineFilter,
  type Stage,
  type StageContext,
  type StageVerdict,
} from "./distill/stages/stage.ts";
// The engine inside Node.
export {
  type EmbeddedEngine,
  type EmbeddedEngineOptions,
  openEmbeddedEngine,
} from "./engines/embedded/embedded-engine.ts";
export { loadAdapterFolder, saveAdapterFolder } from "./engines/embedded/files/adapter-folder.ts";
export { averageModels } from "./engines/embedded/files/average-models.ts";
export { loadGguf, saveGguf } from "./engines/embedded/files/gguf-model.ts";
export { ggufTokenizer } from "./engines/embedded/files/gguf-tokenizer.ts";
export {
  type LoadedModel,
  loadModelFolder,
  type SaveModelOptions,
  saveModelFolder,
} from "./engines/embedded/files/model-folder.ts";
export { type ModelConfig, type ModelSize, modelConfig } from "./engines/embedded/model/config.ts";
// Evaluation: graders, benchmarks, figures, comparison.
export { type BareSystemOptions, bareSystem } from "./evaluate/bare-system.ts";
export { bestOf, chosenSuccess, majoritySuccess } from "./evaluate/best-of.ts";
export { type ChainSystemOptions, chainSystem } from "./evaluate/chain-system.ts";
export { byCheck, byMajority, type Candidate, type Choice, type Choose } from "./evaluate/choose.ts";
export { compareEvaluations } from "./evaluate/compare-evaluations.ts";
export { comparisonReport } from "./evaluate/comparison-report.ts";
export type { EvaluationRecord } from "./evaluate/evaluation-record.ts";
export { byJudge, type JudgeChoiceOptions } from "./evaluate/judge-choice.ts";
export { readEvaluation, readRuns, type StoredEvaluation } from "./evaluate/read-evaluation.ts";
export { type Evaluation, type EvaluationOptions, runEvaluation } from "./evaluate/run-evaluation.ts";
export { bootstrap, comparePaired, passAtK } from "./evaluate/statistics.ts";
export { type CodeGradeOptions, gradeCode } from "./graders/code/grade-code.ts";
export { gradeGaia } from "./graders/grade-gaia.ts";
export { gradeQa } from "./graders/grade-qa.ts";
export { type GradeTaskOptions, gradeTask, taskGrader } from "./graders/grade-task.ts";
export { type JudgeOptions, judgeGrader } from "./graders/judges/judge-grader.ts";
export { gradeMath } from "./graders/math/grade-math.ts";
export { outcomeReward } from "./graders/reward.ts";
// The lab: a made-up world to teach in.
export { arithmeticTool } from "./lab/arithmetic-tool.ts";
export { compactTools } from "./lab/compact-tools.ts";
// Training.
export { copyTask, inSequence } from "./lab/copy-task.ts";
export { createWorld, type Entity, type World, type WorldOptions } from "./lab/create-world.ts";
export { labCorrector } from "./lab/lab-corrector.ts";
export { type Split, shortNameSeeds } from "./lab/names.ts";
export { labProfile } from "./lab/profile.ts";
export { type QuickstartOptions, type QuickstartResult, runQuickstart } from "./lab/quickstart/run-quickstart.ts";
export { type QuickstartSettings, quickstartSizes } from "./lab/quickstart/settings.ts";
export { isReadingQuestion, readingExamples } from "./lab/reading-examples.ts";
export { type SpecialistOptions, scriptedSpecialists } from "./lab/scripted-specialists.ts";
export { type ServedWorld, serveWorld } from "./lab/serve-world.ts";
export { memoryFetch, servedFetch } from "./lab/world-fetch.ts";
export { type WorldDocument, worldDocuments, worldIndexOptions } from "./lab/world-pages.ts";
export { type Family, type WorldTaskOptions, worldTasks } from "./lab/world-tasks.ts";
export { chainRules } from "./language/grammar/chain-rules.ts";
export { grammarText } from "./language/grammar/grammar-text.ts";
export { allowedTokens, tokenAutomaton } from "./language/grammar/token-mask.ts";
export { neutraliser } from "./language/neutralise.ts";
export {
  advance,
  allowedNext,
  type BodyFormat,
  defineProfile,
  type Gate,
  startState,
  stopStrings,
  type TagSpec,
} from "./language/profile.ts";
export { builtInProfiles, codeProfile, mhqaProfile, multiProfile, webProfile } from "./language/profiles.ts";
export { systemPrompt } from "./language/system-prompt.ts";
export { type TagReader, tagReader } from "./language/tag-reader.ts";
export { validateSegments } from "./language/validate.ts";
export { cachedModel, cachedTools, openReplayModel } from "./models/cached-model.ts";
// Models.
export { chatTemplate, chatTemplateOf, type RenderPrompt } from "./models/chat-template.ts";
export { type EngineModelOptions, engineModel } from "./models/engine-model.ts";
export { type ContinueMode, type OpenAICompatibleOptions, openaiCompatible } from "./models/openai-compatible.ts";
// Recording: any multi-agent system, by proxy, preload, collector or file.
export { refusedForTraining } from "./record/assemble-run.ts";
export { type Collector, type CollectorOptions, startCollector } from "./record/collector/start-collector.ts";
export { type ImportFormat, importFiles, importFormats } from "./record/import-file.ts";
export type { BudgetLimits, BudgetOptions } from "./record/proxy/budget.ts";
export { type ProxyOptions, type RecordingProxy, startProxy } from "./record/proxy/start-proxy.ts";
export { readRecordings } from "./record/recordings.ts";
export { type RunSummary, runTree, summariseRun } from "./record/run-summary.ts";
export type { WireExchange } from "./record/wire-exchange.ts";
export { comparisonHtml, type ReportOptions, runKey } from "./report/comparison-html.ts";
export { comparisonTable } from "./report/comparison-table.ts";
export { distillHtml } from "./report/distill-html.ts";
export { reportText } from "./report/distill-text.ts";
export { type Benchmark, benchmarks } from "./tasks/benchmarks/benchmarks.ts";
export { type LoadOptions, loadTasks } from "./tasks/benchmarks/load-tasks.ts";
export { type CheckOptions, checkTask, type TaskCheck } from "./tasks/check-tasks.ts";
export { type GenerateOptions, generateTasks, type Rejection, type SourceDocument } from "./tasks/generate-tasks.ts";
export { selectTasks } from "./tasks/select-tasks.ts";
// The team: a multi-agent system, recorded.
export { standardTeam, type TeamMember } from "./team/agents.ts";
export type { TeamBudget } from "./team/budget.ts";
export type { RoleFunction, RolePlayer, RoleReply } from "./team/role.ts";
export { runTeam, type TeamOptions } from "./team/run-team.ts";
export { runTeams, type TeamsOptions } from "./team/run-teams.ts";
export type { TeamEvent } from "./team/work-session.ts";
export { createLongTermMemory, type LongTermMemory, type PastStep } from "./team/working-memory.ts";
export { loadTokenizer, tokenizerFromJson } from "./tokenizers/load-tokenizer.ts";
export { roleMarkers, type TrainTokenizerOptions, tagTokens, trainTokenizer } from "./tokenizers/train-tokenizer.ts";
// Tools: search, crawl, images, MCP.
export { type CodeToolOptions, codeTool, observationOf, readProgram } from "./tools/code.ts";
export { cachedFetch } from "./tools/crawl/cached-fetch.ts";
export { type CrawlPageOptions, crawlPage } from "./tools/crawl/crawl-page.ts";
export { cachingExtractor, type ExtractedPage, extractPage } from "./tools/crawl/extract-page.ts";
export { type FetchedPage, type FetchPage, type PageFetcherOptions, pageFetcher } from "./tools/crawl/fetch-page.ts";
export { BlockedAddressError } from "./tools/crawl/guarded-agent.ts";
export { jinaReader } from "./tools/crawl/jina-reader.ts";
export { type PoliteOptions, politeFetch } from "./tools/crawl/polite-fetch.ts";
export { isPublicAddress } from "./tools/crawl/public-address.ts";
export { summarisePage } from "./tools/crawl/summarise-page.ts";
export {
  buildIndex,
  type Hit,
  type IndexDocument,
  type IndexOptions,
  type MemoryIndex,
} from "./tools/local-index/build-index.ts";
export { type IndexWriter, indexWriter, loadIndex } from "./tools/local-index/index-file.ts";
export { type LocalIndex, openIndex } from "./tools/local-index/open-index.ts";
export { readCorpus } from "./tools/local-index/read-corpus.ts";
export { retrieveHandler } from "./tools/local-index/retrieve-handler.ts";
export { connectMcp, type McpConnection, type McpOptions, type McpServer } from "./tools/mcp/connect-mcp.ts";
export { type BubblewrapOptions, bubblewrapSandbox } from "./tools/sandbox/bubblewrap.ts";
export {
  type ChooseSandboxOptions,
  chooseSandbox,
  type SandboxFinding,
  type SandboxKind,
  sandboxLevels,
} from "./tools/sandbox/choose-sandbox.ts";
export { defaultSandboxLimits, trimMiddle } from "./tools/sandbox/limits.ts";
export type { LineSandboxOptions, WarmSandbox } from "./tools/sandbox/line-sandbox.ts";
export { type NsjailOptions, nsjailSandbox } from "./tools/sandbox/nsjail.ts";
export { type PyodideOptions, pyodideSandbox } from "./tools/sandbox/pyodide.ts";
export { quickjsSandbox } from "./tools/sandbox/quickjs.ts";
export { type SandboxFusionOptions, sandboxFusion } from "./tools/sandbox/sandbox-fusion.ts";
export { type Blocklist, benchmarkBlocklist, blocklist, withoutUrls } from "./tools/search/blocklist.ts";
export { cachedSearch, type SearchRecord } from "./tools/search/cached-search.ts";
export { indexProvider } from "./tools/search/index-provider.ts";
export type { SearchProvider, SearchResult } from "./tools/search/search-provider.ts";
export { webProvider, webProviderFromEnvironment } from "./tools/search/web-providers.ts";
export { webSearch } from "./tools/search/web-search.ts";
export { indexRetriever, type Retrieve, retrievalClient, wikiSearch } from "./tools/search/wiki-search.ts";
export { visualInspector } from "./tools/visual-inspector.ts";
export {
  type Fault,
  type FaultKind,
  type FaultPlan,
  faultKinds,
  faultRecorder,
  parseFaultPlan,
  withFaults,
} from "./tools/with-faults.ts";
export { type ExampleSource, fixedExamples } from "./train/example-source.ts";
export { creditAfterFault, type FaultMark, withFaultMarks } from "./train/fault-credit.ts";
export { type MiningOptions, mineFailures } from "./train/mine-failures.ts";
export { type TeamCorrectorOptions, teamCorrector } from "./train/team-corrector.ts";
export { engineTeacher, type TokenTeacher } from "./train/token-teacher.ts";
export { dapoLoss, type RlOptions, type RlResult, trainRl } from "./train/train-rl.ts";
export { type SftOptions, type SftResult, trainSft } from "./train/train-sft.ts";
