import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  eventsOfTrajectory,
  facts,
  fuzzProjections,
  hostile,
  randomTrajectory,
  written,
} from "../../../test/fixtures/projection-fuzz.ts";
import { responseWriter } from "../../base/wire/write-response.ts";
import { seededRandom } from "../../base/work/random.ts";
import { replyStyles } from "./reply-parts.ts";

describe("projections of random chains with hostile text", () => {
  it("are read back by our own clients as the same reasoning, calls and answer, streamed and whole", () => {
    fuzzProjections(800);
  });

  it("carry ten megabytes of a hostile observation without forging an event", () => {
    const output = hostile.join("").repeat(200_000);
    const events = [
      { type: "tool" as const, callId: "1", tool: "web_search", input: {}, output, ok: true, ms: 1 },
      ...eventsOfTrajectory(randomTrajectory(seededRandom(1))),
    ];
    const wire = written(responseWriter(facts), replyStyles.responses, events, true);
    assert.deepEqual(
      wire.map((event) => event["sequence_number"]),
      [...wire.keys()],
    );
  });
});
