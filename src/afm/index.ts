/** What belongs to the paper's authors alone: their harness, and the chains they published. */
export { type AfmHarnessOptions, runAfmHarness } from "./afm-harness.ts";
export { type ImportOptions, type ImportReport, importChains } from "./import-chains.ts";
