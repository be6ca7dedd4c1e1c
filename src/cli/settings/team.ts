import { choice, pairs, toggle, whole } from "../setting.ts";

/** The multi-agent team. */
export const team = {
  topology: choice(["agents-as-tools", "handoff"], "How agents share what they read", { flag: "topology", default: "agents-as-tools", valueName: "name" }),
  roles: pairs("Another model for one role", { flag: "role", valueName: "role=model" }),
  maxTokens: whole("Max tokens per team run"),
  maxTotalTokens: whole("Start no further run once all have used this many tokens"),
  survey: toggle("Survey the facts before the plan"),
  planInterval: whole("Renew the plan after this many delegations; 0: never", { default: 0, min: 0 }),
  reviewInterval: whole("Reflect after this many delegations; 0: never", { default: 0, min: 0 }),
  pick: choice(["list-wise", "scored"], "How the judge of --best-of picks among team runs", { default: "list-wise" }),
  words: choice(["full", "no-prompts", "terse"], "Length of the scripted lab team's messages; terse: no longer than a chain's", { default: "full" }),
} as const; // biome-ignore format: one setting a line
