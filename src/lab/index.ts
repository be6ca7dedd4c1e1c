/** The lab: a made-up world to teach and test in, and the quickstart. Every export is named here, one by one; what is not here is not public. */
export { arithmeticTool } from "./arithmetic-tool.ts";
export { compactTools } from "./compact-tools.ts";
export { createWorld, type World, type WorldOptions } from "./create-world.ts";
export { lookUpProfile, lookUpTasks, lookUpTeam, lookUpTools, lookUpWorld, type Wordings } from "./look-ups.ts";
export type { Split } from "./names.ts";
export { labProfile } from "./profile.ts";
export { type QuickstartOptions, type QuickstartResult, runQuickstart } from "./quickstart/run-quickstart.ts";
export type { QuickstartSettings } from "./quickstart/settings.ts";
export { type ServedWorld, serveWorld } from "./real-lab-tools.ts";
export {
  type Played,
  type Specialist,
  type SpecialistOptions,
  type SpecialistRole,
  scriptedSpecialists,
} from "./scripted-specialists.ts";
export { memoryFetch } from "./world-fetch.ts";
export { type WorldDocument, worldDocuments } from "./world-pages.ts";
export { type Family, type WorldTaskOptions, worldTasks } from "./world-tasks.ts";
