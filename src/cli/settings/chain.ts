import { choice, number, text, toggle, whole } from "../setting.ts";

/** How a chain is run. */
export const chain = {
  profile: text("Tags and rules: web, mhqa, code, multi, wide, lab, lab-wide, or a module that exports one by default (default: as the model was taught, else web)", { flag: "profile", valueName: "name|file" }),
  lab: whole("Work in the made-up lab world of this seed", { flag: "lab", min: 0, valueName: "seed", replaces: ["tools.modules", "tools.mcp", "tools.docs", "tools.index", "tools.search", "tools.retrieval", "tools.recorded"] }),
  bareQuestion: toggle("Give the model the question without a system prompt", { flag: "bare" }),
  enforcement: choice(["report", "repair"], "How format errors are handled", { default: "repair" }),
  entropies: toggle("Keep the entropy at each token with the chain, for the studio; only models in this process have it"),
} as const; // biome-ignore format: one setting a line

/** Limits of one run. */
export const limits = {
  maxSteps: whole("Max model calls per run"),
  maxTokens: whole("Max tokens written per run", { flag: "max-tokens", valueName: "n" }),
  maxSeconds: number("Max wall time per run", { min: 0 }),
} as const; // biome-ignore format: one setting a line
