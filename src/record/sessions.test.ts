import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { TeamRun } from "../core/team-run.ts";
import { importFiles } from "./import-file.ts";
import { refusedForTraining } from "./trainable.ts";

const root = await mkdtemp(join(tmpdir(), "coa-sessions-"));
after(() => rm(root, { recursive: true, force: true }));

async function imported(value: unknown): Promise<TeamRun[]> {
  const file = join(root, "trace.json");
  await writeFile(file, JSON.stringify(value));
  return importFiles([file]);
}

const chat = [
  { role: "system", content: "You help with leave." },
  { role: "user", content: "How many days carry over?" },
  { role: "assistant", content: "Five days." },
  { role: "user", content: "And of sick leave?" },
  { role: "assistant", content: "None." },
  { role: "user", content: "Who signs?" },
  { role: "assistant", content: "The head of the office." },
];
const told = (run: TeamRun) => [run.question, run.answer, run.history?.length ?? 0, run.session];

describe("sessions in files", () => {
  it("makes a run of each turn of a conversation, with the turns before as its history", async () => {
    const runs = await imported({ id: "chat", task_id: "t", score: 1, messages: chat });
    assert.deepEqual(runs.map(told), [
      ["How many days carry over?", "Five days.", 0, "chat"],
      ["And of sick leave?", "None.", 2, "chat"],
      ["Who signs?", "The head of the office.", 4, "chat"],
    ]);
    assert.deepEqual(
      runs.map(({ taskId, feedback }) => [taskId, feedback?.[0]?.score]),
      [
        [undefined, undefined],
        [undefined, undefined],
        ["t", 1],
      ],
      "a score speaks of the end",
    );
  });

  it("makes one run of a conversation whose outcome is of the whole, the user's words kept as answers to its questions", async () => {
    const runs = await imported({
      reward: 0,
      info: {},
      traj: [...chat, { role: "user", content: "Thank you. ###STOP###" }],
    });
    assert.deepEqual(runs.map(told), [["How many days carry over?", "The head of the office.", 0, undefined]]);
    assert.deepEqual(runs[0]?.feedback, [{ name: "reward", score: 0 }]);
    assert.deepEqual(
      runs[0]?.steps.map(({ text, toolCalls }) => [text, toolCalls.map((call) => [call.arguments, call.result])]),
      [
        ["", [['{"message":"Five days."}', "And of sick leave?"]]],
        ["", [['{"message":"None."}', "Who signs?"]]],
        ["The head of the office.", []],
      ],
    );
    assert.equal(refusedForTraining(runs[0]!), null);
  });

  it("refuses conversations whose images are not in the file", async () => {
    const image = { type: "image_url", image_url: { url: "https://example.org/a.png" } };
    const [run] = await imported({
      messages: [
        { role: "user", content: [{ type: "text", text: "What is this?" }, image] },
        { role: "assistant", content: "A dog." },
      ],
    });
    assert.deepEqual(
      run?.completeness.untrainable?.map(({ reason }) => reason),
      ["missing-media"],
    );
  });

  it("keeps the history and the session of a trace that is one turn of a conversation", async () => {
    const observation = {
      id: "o1",
      traceId: "t1",
      type: "GENERATION",
      name: "chat",
      startTime: "2026-01-01T00:00:00Z",
      endTime: "2026-01-01T00:00:01Z",
      input: chat.slice(0, 4),
      output: chat[4],
      model: "m",
      usage: { input: 10, output: 2 },
    };
    const runs = await imported({ id: "t1", sessionId: "s-9", observations: [observation] });
    assert.deepEqual(runs.map(told), [["And of sick leave?", "None.", 2, "s-9"]]);
  });
});
