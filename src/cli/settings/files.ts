import { choice, number, text, toggle, whole } from "../setting.ts";

/** How documents are cut and indexed. */
export const index = {
  passageWords: whole("Words per passage of a folder's files", { default: 150, min: 10, max: 100_000 }),
  stemming: choice(["none", "light"], "light joins singular and plural", { default: "none" }),
  titleBoost: whole("The title counts as if written this many times", { default: 1, min: 0, max: 1000 }),
  k1: number("Saturation of word counts", { default: 1.2, min: 0 }),
  b: number("Strength of length normalisation", { default: 0.75, min: 0, max: 1 }),
  baseUrl: text("Address of the folder's root, for links to its files"),
} as const; // biome-ignore format: one setting a line

/** The architecture of a new model. */
export const newModel = {
  architecture: choice(["qwen2", "qwen3", "llama"], "Architecture", { default: "qwen2" }),
  kvHeads: whole("Heads for keys and values (default: as many as heads)"),
  headSize: whole("Width of a head (default: hidden / heads)"),
  inner: whole("Inner width (default: 8/3 of hidden)"),
  untied: toggle("An output matrix of its own instead of the embedding"),
  copyInit: toggle("Start with a circuit that copies (qwen2 only)"),
} as const; // biome-ignore format: one setting a line

/** Which lab world, and which questions about it. */
export const lab = {
  pages: whole("How many pages the world has", { default: 600, min: 20 }),
  taskSeed: whole("Other questions about the same world", { default: 0, min: 0 }),
} as const; // biome-ignore format: one setting a line

/** What `coa up` takes its input for, and what it keeps back. */
export const up = {
  input: choice(["documents", "traces"], "What the input is, where both are possible (default: by its files)"),
  heldOut: number("Share of the questions that training never sees", { default: 0.2, min: 0, max: 0.9 }),
} as const; // biome-ignore format: one setting a line
