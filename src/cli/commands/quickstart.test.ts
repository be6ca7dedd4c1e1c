import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";
import type { OnProgress } from "../../core/events.ts";
import { keepMoving } from "./quickstart.ts";

describe("progress of the quickstart", () => {
  it("moves at least every two seconds while nothing new comes, and rests between stages", () => {
    mock.timers.enable({ apis: ["setInterval"] });
    const heard: Parameters<OnProgress>[0][] = [];
    const moving = keepMoving((event) => void heard.push(event));
    moving.progress({ stage: "rl", done: 0 });
    mock.timers.tick(5000);
    moving.progress({ stage: "rl", done: 1, figures: { reward: 0.5 } });
    mock.timers.tick(2000);
    moving.pause();
    mock.timers.tick(60_000);
    assert.deepEqual(
      heard.map(({ done, figures }) => [done, figures?.["working"]]),
      [
        [0, undefined],
        [0, "2 s"],
        [0, "4 s"],
        [1, undefined],
        [1, "2 s"],
      ],
    );
    assert.equal(heard.at(-1)?.figures?.["reward"], 0.5);
    mock.timers.reset();
  });
});
