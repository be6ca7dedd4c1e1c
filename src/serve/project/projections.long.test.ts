import { describe, it } from "node:test";
import { fuzzProjections } from "../../../test/fixtures/projection-fuzz.ts";

describe("projections of 100,000 random chains with hostile text", () => {
  it("are read back by our own clients as the same reasoning, calls and answer, streamed and whole", () => {
    fuzzProjections(100_000);
  });
});
