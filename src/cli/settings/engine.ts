import { choice, number, text, toggle, whole } from "../setting.ts";

/** What trains the weights: this machine, or a Tinker server. */
export const engine = {
  kind: choice(["embedded", "tinker"], "Where weights are trained: this machine, or a Tinker server", { flag: "engine", default: "embedded", valueName: "name" }),
  url: text("The Tinker server (default: TINKER_BASE_URL)", { flag: "engine-url", valueName: "url" }),
  baseModel: text("The model to train on the server", { flag: "base-model", valueName: "name" }),
  lora: whole("Rank of a low-rank adapter to train instead of all weights; 0 on a server: all weights", { flag: "lora", min: 0, valueName: "rank" }),
  loraAlpha: number("Scale of the adapter: alpha / rank (default: 2 x rank; servers fix it at 32)", { min: 0 }),
  loraTargets: text("Projections that get an adapter, such as q_proj,v_proj (default: all)"),
  threads: whole("Threads (default: all cores)", { flag: "threads", valueName: "n" }),
  reduction: choice(["sum", "sequence-mean"], "How the server adds up losses; sequence-mean for SkyRL on jax", { default: "sum" }),
  price: text("Dollars per million tokens read, sampled and trained on the server: in,out,train"),
  samplerUrl: text("OpenAI-compatible server (vLLM, SGLang) that serves the trained weights, to sample from"),
  samplerModel: text("What that server calls the trained weights (default: the model's id on the training server)"),
  stateHours: number("Hours after which the server may delete saved states (default: never)", { min: 0 }),
  maxContext: whole("Max context on the server (default: what config.json says)", { min: 16 }),
  roundMaxTokens: toggle("Ask for 64, 256, 1024... tokens and cut: for servers that compile for each number"),
} as const; // biome-ignore format: one setting a line
