import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  facts,
  fuzzProjections,
  hostile,
  isTool,
  overTheWire,
  profile,
  randomTrajectory,
} from "../../../test/fixtures/projection-fuzz.ts";
import { seededRandom } from "../../core/random.ts";
import { eventsOfTrajectory } from "../served-events.ts";
import { responsesProjection } from "./responses.ts";

describe("projections of random chains with hostile text", () => {
  it("are read back by our own clients as the same reasoning, calls and answer, streamed and whole", () => {
    fuzzProjections(800);
  });

  it("carry ten megabytes of a hostile observation without forging an event", () => {
    const output = hostile.join("").repeat(200_000);
    const events = [
      { type: "tool" as const, callId: "1", tool: "web_search", input: {}, output, ok: true, ms: 1 },
      ...eventsOfTrajectory(randomTrajectory(seededRandom(1)), profile),
    ];
    const responses = responsesProjection({ ...facts, echo: {}, hostedTools: true, isTool });
    const sent = [...responses.begin(), ...events.flatMap((event) => responses.add(event))];
    assert.equal(overTheWire(sent).length, sent.length);
  });
});
