import { describe, it } from "node:test";
import { engineConformance } from "./engine-conformance.ts";
import { tabularEngine } from "./tabular-engine.ts";

describe("tabularEngine", () => {
  for (const { name, run } of engineConformance(async () => tabularEngine(12))) it(name, run);
});
