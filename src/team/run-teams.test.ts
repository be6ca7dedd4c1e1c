import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { memoryJournal } from "../../test/fixtures/memory-journal.ts";
import { defineTask } from "../core/task.ts";
import type { TeamRun } from "../core/team-run.ts";
import type { RoleFunction } from "./role.ts";
import { runTeam } from "./run-team.ts";
import { runTeams } from "./run-teams.ts";

const tasks = Array.from({ length: 12 }, (_, index) => defineTask({ id: `t${index}`, question: `What is ${index}?` }));
const manager: RoleFunction = ({ messages }) => (messages.length === 2 ? "1. think" : "done");
const roles = { manager, default: () => "The score this time is:4" };

async function ids(runs: AsyncIterable<TeamRun>): Promise<string[]> {
  const found: string[] = [];
  for await (const run of runs) found.push(run.taskId!);
  return found;
}

describe("runTeams", () => {
  it("runs every task once, whatever the concurrency, with progress", async () => {
    for (const concurrency of [1, 5, 50]) {
      const journal = memoryJournal<TeamRun>();
      const progress: number[] = [];
      const found = await ids(
        runTeams([...tasks, tasks[0]!], {
          roles,
          tools: [],
          concurrency,
          journal,
          onProgress: (event) => progress.push(event.done),
        }),
      );
      assert.deepEqual(found.toSorted(), tasks.map((task) => task.id).toSorted());
      assert.equal(journal.records.length, 12);
      assert.deepEqual(
        progress,
        Array.from({ length: 12 }, (_, index) => index + 1),
      );
    }
  });

  it("resumes where it was stopped", async () => {
    const journal = memoryJournal<TeamRun>();
    for await (const run of runTeams(tasks, { roles, tools: [], concurrency: 1, journal }))
      if (run.taskId === "t4") break;
    assert.ok(journal.records.length >= 5 && journal.records.length < 12);
    const before = journal.records.length;
    assert.equal((await ids(runTeams(tasks, { roles, tools: [], journal }))).length, 12 - before);
    assert.equal(new Set(journal.records.map((run) => run.taskId)).size, 12);
  });

  it("runs failed tasks again only when asked to", async () => {
    const journal = memoryJournal<TeamRun>();
    const broken: RoleFunction = (request) => {
      if (request.messages[1]!.content.includes("What is 3?")) throw new Error("down");
      return manager(request);
    };
    await ids(runTeams(tasks, { roles: { ...roles, manager: broken }, tools: [], journal }));
    assert.match(journal.records.find((run) => run.taskId === "t3")!.ending.detail!, /down/);
    assert.deepEqual(await ids(runTeams(tasks, { roles, tools: [], journal })), []);
    assert.deepEqual(await ids(runTeams(tasks, { roles, tools: [], journal, retryErrors: true })), ["t3"]);
  });

  it("starts no run beyond the batch's budget", async () => {
    assert.equal((await ids(runTeams(tasks, { roles, tools: [], totalBudget: { runs: 7 } }))).length, 7);
    const journal = memoryJournal<TeamRun>();
    await ids(runTeams(tasks, { roles, tools: [], concurrency: 1, journal, totalBudget: { tokens: 2_000 } }));
    const spent = journal.records.map((run) => run.usage.billedTokens);
    assert.ok(spent.slice(0, -1).reduce((a, b) => a + b, 0) < 2_000);
    assert.ok(spent.reduce((a, b) => a + b, 0) >= 2_000);
  });

  it("runs each task as it is told to", async () => {
    const run = async (...given: Parameters<typeof runTeam>) => ({ ...(await runTeam(...given)), answer: "chosen" });
    const answers: (string | null)[] = [];
    for await (const one of runTeams(tasks.slice(0, 2), { roles, tools: [], run })) answers.push(one.answer);
    assert.deepEqual(answers, ["chosen", "chosen"]);
  });

  it("stops when the caller does", async () => {
    const stop = new AbortController();
    const journal = memoryJournal<TeamRun>();
    await assert.rejects(
      async () => {
        for await (const _ of runTeams(tasks, { roles, tools: [], concurrency: 2, journal, signal: stop.signal }))
          stop.abort();
      },
      { name: "AbortError" },
    );
    assert.ok(journal.records.length < 12);
  });
});
