/**
 * Who may import whom. A row is a folder of src/ (or a two-part folder such as `base/files`); `base` in a list means all of
 * base. Changing this table is a design decision: say why in docs/decisions/.
 */
export const importTable: Record<string, readonly string[]> = {
  core: [],
  "base/files": ["core"],
  "base/http": ["core"],
  "base/wire": ["core"],
  "base/redact": ["core"],
  language: ["core"],
  tokenizers: ["core", "base/files"],
  models: ["core", "base", "language", "tokenizers"],
  engines: ["core", "base"],
  tools: ["core", "base"],
  graders: ["core", "base", "language"],
  tasks: ["core", "base", "graders"],
  chain: ["core", "language"],
  team: ["core", "language"],
  record: ["core", "base"],
  distill: ["core", "base", "language", "report"],
  dataset: ["core", "base", "language", "tokenizers"],
  train: ["core", "base", "language", "chain", "dataset"],
  evaluate: ["core", "base", "chain", "report"],
  report: ["core"],
  lab: [
    "core",
    "base",
    "language",
    "tokenizers",
    "models",
    "engines",
    "tools",
    "graders",
    "tasks",
    "chain",
    "team",
    "record",
    "distill",
    "dataset",
    "train",
    "evaluate",
    "report",
  ],
  serve: ["core", "base", "language", "tokenizers", "models", "chain", "dataset"],
  "studio/api": ["core", "base", "language", "tokenizers", "report", "distill", "dataset", "train", "evaluate"],
  "studio/app": ["core", "studio/api", "report"],
  testing: ["core", "base", "language"],
  cli: ["*"],
  "index.ts": ["*"],
};

/** Of these folders only some files may be imported by the row named: the studio reads what stages leave on disk, it runs nothing. */
export const readersOnly: Record<string, { folders: readonly string[]; files: RegExp }> = {
  "studio/api": { folders: ["distill", "dataset", "train", "evaluate"], files: /\/(read-[^/]+|statistics)\.ts$/ },
};

/** Rows whose imports from the folders named must be `import type`: the browser app takes data over HTTP only. */
export const typesOnly: Record<string, readonly string[]> = { "studio/app": ["core", "studio/api"] };
