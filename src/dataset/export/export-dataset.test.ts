import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { z } from "zod";
import { defineTask } from "../../core/task.ts";
import { type Segment, type Trajectory, trajectoryText } from "../../core/trajectory.ts";
import { emptyUsage } from "../../core/usage.ts";
import { webProfile } from "../../language/profiles.ts";
import { trainTokenizer } from "../../tokenizers/train-tokenizer.ts";
import { chainTurns } from "./chain-turns.ts";
import { type ExportFormat, exportDataset } from "./export-dataset.ts";

const segments: Segment[] = [
  { tag: "think", text: " look", by: "model" },
  { tag: "web_search", text: " Ada", by: "model" },
  { tag: "observation", text: "a page", by: "tool" },
  { tag: "think", text: " enough", by: "model" },
  { tag: "answer", text: " 1815", by: "model" },
];
const trajectory: Trajectory = {
  version: 1,
  id: "t",
  taskId: "q1",
  profile: "web",
  model: "m",
  prompt: [
    { role: "system", content: "Rules." },
    { role: "user", content: "When?" },
  ],
  segments,
  answer: "1815",
  ending: { reason: "answered" },
  usage: emptyUsage(),
  violations: [],
};
const cutOff: Trajectory = { ...trajectory, id: "u", segments: segments.slice(0, 3), ending: { reason: "limit" } };
const silent: Trajectory = { ...trajectory, id: "v", segments: [] };
const tasks = [
  defineTask({ id: "q1", question: "When?", answers: ["1815"], family: "hop1" }),
  defineTask({ id: "q2", question: "Who?", answers: ["a", "b"], source: "nq" }),
  defineTask({ id: "q3", question: "Unknown?" }),
  defineTask({ id: "q4", question: "Add.", kind: "code", tests: { inputs: ["1 2"], outputs: ["3"] } }),
];

describe("exportDataset", () => {
  let folder = "";
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "coa-export-"));
  });
  after(() => rm(folder, { recursive: true }));
  const run = (format: ExportFormat, more: object = {}) =>
    exportDataset(format === "verl-rl" ? tasks : [trajectory, cutOff, silent], {
      format,
      folder,
      name: format,
      ...more,
    });
  const lines = async (file: string) =>
    (await readFile(file, "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  const learned = chainTurns(segments)
    .filter((turn) => turn.author === "model")
    .map((turn) => turn.text);

  it("writes chat JSONL in which assistant turns alone hold what the model wrote", async () => {
    const result = await run("chat", { observationRole: "tool" });
    assert.deepEqual(result.skipped, { "the model wrote nothing": 1 });
    const schema = z.strictObject({
      messages: z.array(z.strictObject({ role: z.enum(["system", "user", "assistant", "tool"]), content: z.string() })),
    });
    const [row, cut] = (await lines(result.files[0]!)).map((line) => schema.parse(line));
    assert.deepEqual(
      row!.messages.map((message) => message.role),
      ["system", "user", "assistant", "tool", "assistant"],
    );
    assert.deepEqual(
      row!.messages.filter((message) => message.role === "assistant").map((message) => message.content),
      learned,
    );
    assert.equal(
      row!.messages
        .slice(2)
        .map((message) => message.content)
        .join(""),
      trajectoryText(segments),
    );
    assert.equal(cut!.messages.at(-1)!.role, "assistant");
  });

  it("writes LLaMA-Factory's sharegpt with its rule about odd and even places, and describes it", async () => {
    await writeFile(join(folder, "dataset_info.json"), JSON.stringify({ other: { file_name: "x.json" } }));
    const result = await run("llama-factory");
    const schema = z.strictObject({
      conversations: z.array(z.strictObject({ from: z.enum(["human", "gpt", "observation"]), value: z.string() })),
      system: z.string(),
    });
    for (const line of await lines(result.files[0]!)) {
      const { conversations } = schema.parse(line);
      assert.equal(conversations.length % 2, 0);
      for (const [index, turn] of conversations.entries()) assert.equal(turn.from === "gpt", index % 2 === 1);
    }
    const info = JSON.parse(await readFile(join(folder, "dataset_info.json"), "utf8"));
    assert.deepEqual(Object.keys(info), ["other", "llama-factory"]);
    assert.equal(info["llama-factory"].formatting, "sharegpt");
    assert.equal(info["llama-factory"].tags.observation_tag, "observation");
  });

  it("refuses what a format is not made of", async () => {
    const wrong = { folder, name: "wrong" };
    await assert.rejects(exportDataset(tasks, { ...wrong, format: "chat" }), /made of trajectories, not of tasks/);
    await assert.rejects(exportDataset([trajectory], { ...wrong, format: "verl-rl" }), /made of tasks, not of traj/);
  });

  it("writes verl's RL rows from tasks", async () => {
    const schema = z.strictObject({
      data_source: z.string(),
      agent_name: z.string(),
      prompt: z.array(z.strictObject({ role: z.enum(["system", "user"]), content: z.string() })),
      ability: z.string(),
      reward_model: z.strictObject({ style: z.literal("rule"), ground_truth: z.string() }),
      extra_info: z.strictObject({
        split: z.string(),
        index: z.number(),
        task_id: z.string(),
        question: z.string(),
        answer: z.string(),
        need_tools_kwargs: z.boolean(),
      }),
    });
    const text = await run("verl-rl", { profile: webProfile, split: "test" });
    assert.deepEqual(text.skipped, { "task q3 has neither answers nor tests": 1 });
    const rows = (await lines(text.files[0]!)).map((line) => schema.parse(line));
    assert.deepEqual(
      rows.map((row) => row.reward_model.ground_truth),
      ["1815", '["a","b"]', '{"inputs":["1 2"],"outputs":["3"]}'],
    );
    assert.deepEqual(
      rows.map((row) => row.data_source),
      ["hop1", "nq", "chain-of-agents"],
    );
    assert.match(rows[0]!.prompt[0]!.content, /web_search/);
  });

  it("writes TRL rows whose labels hold exactly what the model wrote", async () => {
    const tokenizer = trainTokenizer(["look enough Ada a page"], { vocabularySize: 300 });
    const result = await run("trl", { tokenizer, endOfTurn: false, maxTokens: 400 });
    const schema = z.strictObject({ input_ids: z.array(z.int()), labels: z.array(z.int()) });
    const [row] = (await lines(result.files[0]!)).map((line) => schema.parse(line));
    assert.equal(row!.input_ids.length, row!.labels.length);
    assert.ok(row!.labels.every((label, index) => label === -100 || label === row!.input_ids[index]));
    assert.equal(tokenizer.decode(row!.labels.filter((label) => label !== -100)), learned.join(""));
    assert.deepEqual(result.skipped, { "nothing-to-learn": 1 });
    await assert.rejects(run("trl"), /give the model's tokenizer/);
  });
});
