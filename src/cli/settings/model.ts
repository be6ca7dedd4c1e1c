import { choice, list, number, text, whole } from "../setting.ts";

/** The model that answers, and how it is sampled. */
export const model = {
  name: text("A model folder, a model of the workspace or a shipped one by name, or a name on the server; with --base-url a folder or .gguf file of ours tells how the server's model was taught", { flag: "model", valueName: "folder|name", replaces: ["model.baseUrl"] }),
  baseUrl: text("OpenAI-compatible server (default: OPENAI_BASE_URL); openai means the public API", { flag: "base-url", valueName: "url" }),
  mode: choice(["auto", "completions", "continue", "turns"], "How the server continues a chain", { default: "auto" }),
  temperature: number("Sampling temperature", { flag: "temperature", default: 0, min: 0, valueName: "x" }),
  topP: number("Nucleus sampling: share of probability to sample from", { min: 0, max: 1 }),
  topK: whole("Sample among the k likeliest tokens"),
  requestsPerMinute: number("Max model calls started per minute", { min: 0.001 }),
  maxParallelCalls: whole("Max model calls at the same time"),
} as const; // biome-ignore format: one setting a line

/** What model calls cost, and how much may be spent. */
export const spending = {
  price: list("Dollars per million tokens, of one model or of all", { flag: "price", valueName: "[model=]in,out[,cached]" }),
  maxUsd: number("Max dollars to spend (needs --price)", { flag: "max-usd", min: 0, valueName: "usd" }),
  ledger: text("File that keeps what each call cost; --max-usd counts what it holds already"),
} as const; // biome-ignore format: one setting a line

/** Best of n: how many runs of a task, and which is chosen. */
export const choose = {
  bestOf: whole("Run each task n times and choose one answer; all runs are counted", { flag: "best-of", valueName: "n" }),
  by: choice(["judge", "majority", "check"], "How to choose (default: judge if the model chats, else majority)", { flag: "choose", valueName: "way", needs: "choose.bestOf" }),
  enough: number("Run one after the other and stop when a run's own double check gives this score", { min: 1, needs: "choose.bestOf" }),
  model: text("Model that chooses (default: the one that answers)"),
  baseUrl: text("Its OpenAI-compatible server (default: OPENAI_BASE_URL)"),
} as const; // biome-ignore format: one setting a line
