/** Datasets: tokenizers, examples, exports. Every export is named here, one by one; what is not here is not public. */

export { tagTokens } from "../language/profile.ts";
export { loadTokenizer } from "../tokenizers/load-tokenizer.ts";
export { type TrainTokenizerOptions, trainTokenizer } from "../tokenizers/train-tokenizer.ts";
export {
  type BuildDatasetOptions,
  buildDataset,
  type Dataset,
  type DatasetManifest,
  openDataset,
} from "./dataset-folder.ts";
export { type ExportOptions, exportDataset } from "./export/export-dataset.ts";
export { sequenceToExample, type TrainingSequence } from "./training-sequence.ts";
export { type ExampleOptions, rolloutToExamples, trajectoryToExample } from "./trajectory-to-example.ts";
