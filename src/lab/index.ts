/** The lab: a made-up world to teach and test in, and the quickstart. Every export is named here, one by one; what is not here is not public. */
export { arithmeticTool } from "./arithmetic-tool.ts";
export { compactTools } from "./compact-tools.ts";
export { createWorld, type Entity, type World, type WorldOptions } from "./create-world.ts";
export { labCorrector } from "./lab-corrector.ts";
export type { Split } from "./names.ts";
export { labProfile, wideLabProfile } from "./profile.ts";
export { type QuickstartOptions, type QuickstartResult, runQuickstart } from "./quickstart/run-quickstart.ts";
export { type QuickstartSettings, quickstartSizes } from "./quickstart/settings.ts";
export { type SpecialistOptions, scriptedSpecialists } from "./scripted-specialists.ts";
export { type ServedWorld, serveWorld } from "./serve-world.ts";
export { announceTools, needlessTool, renameTags, renameTools, type ToolNames, variedNames } from "./tool-names.ts";
export { memoryFetch, servedFetch } from "./world-fetch.ts";
export { type WorldDocument, worldDocuments, worldIndexOptions } from "./world-pages.ts";
export { type Family, type WorldTaskOptions, worldTasks } from "./world-tasks.ts";
