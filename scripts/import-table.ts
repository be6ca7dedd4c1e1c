/**
 * Who may import whom. A row is a folder of src/ (or a two-part folder such as `base/files`); `base` in a list means all of
 * base. Changing this table is a design decision: say why in docs/decisions/.
 */
export const importTable: Record<string, readonly string[]> = {
  core: [],
  "base/work": ["core"],
  "base/files": ["core", "base/work"],
  "base/http": ["core", "base/work"],
  "base/wire": ["core"],
  "base/redact": ["core"],
  language: ["core"],
  tokenizers: ["core", "base/files"],
  models: ["core", "base", "language", "tokenizers"],
  engines: ["core", "base"],
  tools: ["core", "base"],
  graders: ["core", "base", "language"],
  tasks: ["core", "base", "graders"],
  chain: ["core", "base/work", "language"],
  team: ["core", "base/work", "language"],
  afm: ["core", "base", "language", "chain", "dataset"],
  record: ["core", "base", "language"],
  distill: ["core", "base", "language", "report"],
  dataset: ["core", "base", "language", "tokenizers"],
  train: ["core", "base", "language", "chain", "dataset"],
  evaluate: ["core", "base", "language", "chain", "team", "report"],
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

/** What each folder is for, in the words of the tree that README and docs/architecture.md show. */
export const folderJobs: Record<string, string> = {
  core: "types (Task, TeamRun, Trajectory, Profile, Model, Engine, Tool …) and what all folders share: usage, cost, seeds, limits, errors",
  "base/files": "JSONL, atomic files and folders, lock, manifests, claimed folders, the workspace",
  "base/work": "doing work: limits, pools, back-off, clocks, option checks",
  "base/http": "HTTP client with retries and SSE; server side: listen, routes, access, SSE",
  "base/wire": "formats of the model APIs that two folders use, reading and writing",
  "base/redact": "removes secrets from whatever is stored",
  language: "the chain language: profile machine, prompt, validator, grammar, tag reader, call bodies, observations",
  tokenizers: "load, train, one chat template",
  models: "clients of model servers, the engine as a model, recorded and cached models",
  engines: "train and sample token ids: embedded (ONNX graphs, WebAssembly decoder), clients of clusters",
  tools: "search, pages, your documents, sandboxes, MCP, fault injection",
  graders: "qa, math, code, judges, official scorers, rewards",
  tasks: "benchmark files, generated tasks, checks, selection",
  chain: "task + model + tools -> trajectory",
  team: "our multi-agent system -> team run",
  afm: "what belongs to the paper's authors alone: prompts, harness, presets, their file formats",
  record: "proxy, preload, collector, importers -> team run",
  distill: "team runs -> chains worth learning from, every decision with its reason",
  dataset: "trajectories -> token ids with a loss mask; exports for other trainers",
  train: "SFT, RL and on-policy distillation over an engine",
  evaluate: "tasks x system -> figures; comparison; best of n",
  report: "pure functions from data to SVG and HTML",
  lab: "the made-up world, its tasks, its scripted specialists, and the quickstart as a library",
  serve: "the model with its tools behind the APIs that apps use; rewards, rollouts and training over HTTP",
  "studio/api": "readers of what stages left on disk, over an index that can be deleted; the studio's server",
  "studio/app": "the browser's side: one file per screen, built by Vite",
  testing: "scripted model, tabular engine, conformance suites: chain-of-agents/testing",
  cli: "flags in, one library call, text out",
  "index.ts": "the root entry: what every user of the package needs",
};

/** Of these folders only some files may be imported by the row named: the studio reads what stages leave on disk, it runs nothing. */
export const readersOnly: Record<string, { folders: readonly string[]; files: RegExp }> = {
  "studio/api": { folders: ["distill", "dataset", "train", "evaluate"], files: /\/(read-[^/]+|statistics)\.ts$/ },
};

/** Rows whose imports from the folders named must be `import type`: the browser app takes data over HTTP only. */
export const typesOnly: Record<string, readonly string[]> = { "studio/app": ["core", "studio/api"] };
