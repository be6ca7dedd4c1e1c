/** The lab: a made-up world to teach and test in, and the quickstart. Every export is named here, one by one; what is not here is not public. */
export { arithmeticTool } from "./arithmetic-tool.ts";
export { compactTools } from "./compact-tools.ts";
export { createWorld, type World, type WorldOptions } from "./create-world.ts";
export { lookUpProfile, lookUpTasks, lookUpTeam, lookUpTools, lookUpWorld } from "./look-ups.ts";
export { labProfile } from "./profile.ts";
export { type QuickstartOptions, type QuickstartResult, runQuickstart } from "./quickstart/run-quickstart.ts";
export {
  type Specialist,
  type SpecialistOptions,
  scriptedSpecialists,
} from "./scripted-specialists.ts";
export { memoryFetch, worldDocuments } from "./world-pages.ts";
export { type WorldTaskOptions, worldTasks } from "./world-tasks.ts";
