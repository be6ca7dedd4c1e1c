import { describe, it } from "node:test";
import { engineConformance } from "../fixtures/conformance/engine-conformance.ts";
import { tabularEngine } from "../fixtures/conformance/tabular-engine.ts";

describe("tabularEngine", () => {
  for (const { name, run } of engineConformance(async () => tabularEngine(12))) it(name, run);
});
