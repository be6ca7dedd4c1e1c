/** Evaluations in the studio: the matrix of tasks and systems, and one task over all of them, in a real browser. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import type { Task } from "../../src/core/task.ts";
import type { TeamRun } from "../../src/core/team-run.ts";
import { defineSystem } from "../../src/evaluate/define-system.ts";
import { runEvaluation } from "../../src/evaluate/run-evaluation.ts";
import { taskGrader } from "../../src/graders/grade-task.ts";
import { labRuns } from "../../src/lab/lab-runs.ts";
import type { MatrixView } from "../../src/studio/api/evaluation-readers.ts";
import { readMatrix } from "../../src/studio/api/evaluation-readers.ts";
import { openStudioContext, type Studio, serveStudio } from "../../src/studio/api/serve-studio.ts";
import { assertAccessible, launchBrowser, noBrowser, openPage, visit, type WatchedPage } from "./studio-browser.ts";

const tasksPerTeam = 12;

/** Evaluates a team of the lab that errs in a share of its runs. */
async function evaluate(folder: string, name: string, imperfect: number): Promise<void> {
  const runs = new Map<string, TeamRun>();
  const tasks: Task[] = [];
  for await (const { task, run } of labRuns({ seed: 3, tasksPerWorld: tasksPerTeam, pages: 200, imperfect }, 0)) {
    tasks.push(task);
    runs.set(task.id, { ...run, id: `${name}-${run.id}` });
  }
  const system = defineSystem({ name, run: async (task) => runs.get(task.id)! });
  await runEvaluation(tasks, system, { folder: join(folder, name), grader: taskGrader() });
}

describe("an evaluation that was stopped", () => {
  it("says how many tasks it has not come to", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-stopped-"));
    await evaluate(folder, "stopped", 0);
    const journal = join(folder, "stopped", "journal.jsonl");
    const lines = (await readFile(journal, "utf8")).trimEnd().split("\n");
    await writeFile(journal, lines.slice(0, 5).join("\n"));
    const context = await openStudioContext({ paths: [folder], home: folder });
    try {
      await context.catalog.ready();
      const { systems } = (await readMatrix(new URLSearchParams(), context)) as MatrixView;
      assert.deepEqual([systems[0]!.played, systems[0]!.tasks], [5, tasksPerTeam]);
    } finally {
      await context.close();
      await rm(folder, { recursive: true });
    }
  });
});

describe("evaluations in the studio", { skip: noBrowser }, () => {
  let folder: string;
  let studio: Studio;
  let browser: Browser;
  let watched: WatchedPage;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "coa-matrix-"));
    await evaluate(folder, "careful", 0);
    await evaluate(folder, "hasty", 0.5);
    studio = await serveStudio({ paths: [folder], home: folder });
    await studio.context.catalog.ready();
    browser = await launchBrowser();
    watched = await openPage(browser, studio);
  });
  after(async () => {
    await browser?.close();
    await studio?.close();
    await rm(folder, { recursive: true });
  });

  it("shows who solved which task and how far two systems differ, and opens one task", async () => {
    const view = (await readMatrix(new URLSearchParams(), studio.context)) as MatrixView;
    assert.deepEqual(view.problems, []);
    const differing = view.rows.filter(({ differs }) => differs).length;
    assert.ok(differing > 0 && differing < tasksPerTeam);
    const { page } = watched;
    await visit(watched, "/evaluations", ".matrix-row");
    assert.equal(await page.locator(".matrix-row").count(), tasksPerTeam);
    assert.equal(await page.locator(".matrix-cell.hue-rose").count(), differing);
    assert.match(await page.locator(".pairs").innerText(), /hasty against careful|careful against hasty/);
    await assertAccessible(watched, "matrix");
    await page.keyboard.press("f");
    await page.locator("h1", { hasText: `${differing} of ${tasksPerTeam} tasks` }).waitFor();
    assert.match(page.url(), /only=differ/);
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".compare-rows li");
    assert.equal(await page.locator(".compare-head section").count(), 2);
    await page.keyboard.press("l");
    await page.waitForSelector(".compare-rows .open .compare-detail");
    const shown = await page.locator(".compare-rows .open").innerText();
    await page.reload();
    await page.waitForSelector(".compare-rows .open .compare-detail");
    assert.equal(await page.locator(".compare-rows .open").innerText(), shown);
    await assertAccessible(watched, "compare");
    assert.deepEqual(watched.foreign, []);
    assert.deepEqual(watched.errors, []);
  });

  it("compares all with the one that is chosen, and opens one evaluation from the overview", async () => {
    const { page } = watched;
    await visit(watched, "/evaluations", ".pairs tbody tr");
    const difference = async () =>
      Number((await page.locator(".pairs tbody tr td").nth(1).innerText()).replace("−", "-"));
    const before = await difference();
    assert.ok(Math.abs(before) > 0);
    const [first, second] = (await page.locator(".pairs tbody th").first().innerText()).trim().split(" against ");
    await page.getByLabel("against").selectOption({ label: first! });
    await page.locator(".pairs tbody th", { hasText: `${second} against ${first}` }).waitFor();
    assert.match(page.url(), /against=/);
    assert.equal(await difference(), -before);
    await visit(watched, "/", ".lineage-column.evaluation .card");
    await page.locator(".card", { hasText: "hasty" }).click();
    await page.locator(".matrix-row").first().waitFor();
    assert.equal(await page.locator(".matrix-head b").count(), 1);
  });

  it("says what is not there", async () => {
    const response = await watched.page.request.get(`${studio.origin}/api/matrix?folder=nowhere`, {
      headers: { authorization: `Bearer ${studio.token}` },
    });
    assert.equal(response.status(), 404);
    await visit(watched, "/compare/nothing", ".problem");
    assert.match(await watched.page.locator(".problem").innerText(), /nothing was done for the task "nothing"/);
  });
});
