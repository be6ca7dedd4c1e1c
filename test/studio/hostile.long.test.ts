/**
 * Hostile text in every field of every file: markup that would run, signs that reorder text, ids that look like paths, and
 * an observation of 10 MB. On every screen nothing of it runs, nothing breaks, and nothing is asked of another machine.
 */
import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { openJsonl } from "../../src/base/files/open-jsonl.ts";
import { readAllJsonl } from "../../src/base/files/read-jsonl.ts";
import { namedProfiles } from "../../src/cli/choose-profile.ts";
import type { Task } from "../../src/core/task.ts";
import type { TeamRun } from "../../src/core/team-run.ts";
import { defineSystem } from "../../src/evaluate/define-system.ts";
import { runEvaluation } from "../../src/evaluate/run-evaluation.ts";
import { taskGrader } from "../../src/graders/grade-task.ts";
import { mhqaProfile } from "../../src/language/profiles.ts";
import { type Player, playRoutes } from "../../src/studio/api/play-routes.ts";
import { type Studio, serveStudio } from "../../src/studio/api/serve-studio.ts";
import { scriptedModel, tableTool } from "../../src/testing/index.ts";
import { handlerPlayer } from "./handler-player.ts";
import { launchBrowser, noBrowser, openPage, pressKey, visit, type WatchedPage } from "./studio-browser.ts";
import { studioWorkspace } from "./studio-workspace.ts";

const hostile = `</pre></script><script>globalThis.hacked=1</script><img src=x onerror="globalThis.hacked=1"><svg onload=hacked=1>\u202edevil\u2066 ../../'"\`\${hacked=1} javascript:hacked=1 &amp; \u0000\ud800`;

/** Fields whose words are fixed by their schema, or that others refer to by hash. */
const fixed = new Set([
  "by",
  "split",
  "topology",
  "move",
  "finish",
  "kind",
  "input",
  "language",
  "version",
  "reason",
  "source",
]);

/** The same value with hostile text behind every string. Deterministic, so that ids still refer to each other. */
function poisoned(value: unknown, key = ""): unknown {
  if (typeof value === "string") return value + hostile;
  if (Array.isArray(value)) return value.map((one) => poisoned(one, key));
  if (typeof value !== "object" || value === null) return value;
  const isMessage = "content" in value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      if (fixed.has(name) && key !== "leftOut")
        return [name, name === "source" && typeof inner === "object" ? poisonedSource(inner) : inner];
      return [name, isMessage && name === "role" ? inner : poisoned(inner, name)];
    }),
  );
}

function poisonedSource(source: unknown): unknown {
  const { kind, id } = source as { kind: string; id?: string };
  return { kind, ...(id !== undefined && { id: id + hostile }) };
}

async function poisonFile(path: string): Promise<void> {
  const lines = (await readFile(path, "utf8")).split("\n").filter((line) => line !== "");
  await writeFile(path, lines.map((line) => `${JSON.stringify(poisoned(JSON.parse(line)))}\n`).join(""));
}

/** An evaluation of hostile tasks, answers and names. */
async function evaluateHostile(folder: string): Promise<void> {
  const tasks = (await readAllJsonl(join(folder, "team", "tasks.jsonl"))) as Task[];
  const runs = (await readAllJsonl(join(folder, "team", "runs.jsonl"))) as TeamRun[];
  const system = defineSystem({
    name: `team ${hostile}`,
    run: async (task) => runs.find(({ taskId }) => taskId === task.id)!,
  });
  const out = join(folder, "evals", "<img src=x onerror=hacked=1>\u202e");
  await runEvaluation(tasks.slice(0, 3), system, { folder: out, grader: taskGrader() });
}

/** Figures with hostile names, and rollouts that are hostile chains. */
async function trainHostile(folder: string): Promise<void> {
  const chains = await readAllJsonl(join(folder, "distill", "trajectories.jsonl"));
  const metrics = await openJsonl(join(folder, "rl", "metrics.jsonl"));
  await metrics.append({ step: 1, [hostile]: 0.5, loss: 1, note: hostile });
  await metrics.close();
  const rollouts = await openJsonl(join(folder, "rl", "rollouts.jsonl"));
  for (const [sample, chain] of (chains.slice(1, 3) as { id: string; taskId: string }[]).entries()) {
    const task = { id: chain.taskId, question: hostile, family: hostile };
    const trajectory = { ...chain, id: `${chain.id} again` };
    await rollouts.append({ step: 0, round: 0, slot: 0, sample, task, trajectory, reward: 0 });
  }
  await rollouts.close();
}

/** A model that writes hostile text and calls a tool that returns 10 MB of it. */
async function hostilePlayer(): Promise<Player> {
  const model = scriptedModel(({ text }) =>
    text.includes("observation")
      ? "<think>there</think><answer>x</answer>"
      : `<think>${hostile}</think><wiki_search>Ada</wiki_search>`,
  );
  const tool = tableTool({ Ada: hostile.repeat(Math.ceil(10e6 / hostile.length)) }, "wiki_search");
  return handlerPlayer(
    hostile.toWellFormed(),
    { model, profile: mhqaProfile, toolsOf: () => [tool] },
    { model: hostile, profile: hostile, tools: [hostile], questions: [hostile] },
  );
}

describe("hostile text", { skip: noBrowser }, () => {
  let folder: string;
  let studio: Studio;
  let browser: Browser;

  before(async () => {
    folder = await studioWorkspace(12);
    for (const name of ["team/runs.jsonl", "team/tasks.jsonl", "distill/outcomes.jsonl", "dataset/examples.jsonl"])
      await poisonFile(join(folder, name));
    const chains = join(folder, "distill", "trajectories.jsonl");
    await poisonFile(chains);
    const [first, ...others] = (await readFile(chains, "utf8")).split("\n");
    const large = JSON.parse(first!) as { segments: { by: string; text: string }[] };
    large.segments.find(({ by }) => by === "tool")!.text = hostile.repeat(Math.ceil(10e6 / hostile.length));
    await writeFile(chains, [JSON.stringify(large), ...others].join("\n"));
    const manifest = JSON.parse(await readFile(join(folder, "distill", "manifest.json"), "utf8"));
    manifest.progress.figures = { [hostile]: hostile };
    await writeFile(join(folder, "distill", "manifest.json"), JSON.stringify(manifest));
    await evaluateHostile(folder);
    await trainHostile(folder);
    const player = await hostilePlayer();
    studio = await serveStudio({
      paths: [folder],
      home: folder,
      profiles: namedProfiles,
      more: (context) => playRoutes(context, [player]),
    });
    await studio.context.catalog.ready();
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await studio?.close();
    await rm(folder, { recursive: true });
  });

  const itemAt = (kind: "run" | "chain", place: number) =>
    studio.context.items.page(
      { kind, ...(kind === "chain" && { values: { file: ["distill/trajectories.jsonl"] } }) },
      { by: "order", down: false },
      place,
      1,
    ).rows[0]!;
  const first = (kind: "run" | "chain", place = 0) => encodeURIComponent(itemAt(kind, place).key.toWellFormed());
  const firstTask = () => itemAt("run", 0).taskId.toWellFormed();

  const screens = (): [route: string, selector: string][] => [
    ["/", ".card"],
    ["/runs", ".item"],
    ["/chains", ".item"],
    [`/runs/${first("run")}`, ".gantt-bar, .problem"],
    [`/chains/${first("chain")}`, ".segment"],
    ["/distill", ".funnel-stages"],
    ["/datasets", ".example"],
    // The first chain is too long to be shown as tokens, and says so.
    [`/chains/${first("chain")}/tokens`, ".token-block .t, .problem"],
    [`/chains/${first("chain", 1)}/tokens?at=3`, ".token-facts dl"],
    ["/training", ".rollout-groups li, .curve + .not-loaded"],
    ["/evaluations", ".matrix-row"],
    [`/compare/${encodeURIComponent(firstTask())}?row=1`, ".compare-rows li"],
    [`/review?at=${first("chain")}&seg=0&edit=1`, ".segment-editor textarea"],
    [`/play?ask=${encodeURIComponent(hostile.toWellFormed())}`, ".play-side h2"],
  ];

  async function assertNothingRan(page: Page, name: string): Promise<void> {
    assert.equal(await page.evaluate("globalThis.hacked"), undefined, name);
    assert.equal(await page.locator("#app img, #app iframe, #app object, #app a[href^='javascript']").count(), 0, name);
  }

  it("runs nowhere and breaks nothing in the studio", async () => {
    const watched: WatchedPage = await openPage(browser, studio);
    for (const [route, selector] of screens()) {
      await visit(watched, route, selector);
      await assertNothingRan(watched.page, route);
    }
    await watched.page.getByRole("button", { name: /^Run/ }).click();
    await watched.page.locator(".play-end", { hasText: "answered" }).waitFor();
    await assertNothingRan(watched.page, "playground");
    await visit(watched, `/chains/${first("chain")}?at=seg-0`, ".row-detail");
    const segments = await watched.page.locator(".segment").count();
    for (let index = 0; index < segments; index++) {
      await watched.page.keyboard.press("l");
      await watched.page.waitForSelector(`[data-segment="${Math.min(index + 1, segments - 1)}"].open`);
    }
    assert.ok((await watched.page.content()).length < 5e6, "a long text is not loaded whole");
    await assertNothingRan(watched.page, "segments");
    assert.deepEqual(watched.foreign, []);
    // The chain that is too long for the token view is refused with this status.
    assert.deepEqual(
      watched.errors.filter((error) => !error.includes("400")),
      [],
    );
  });

  it("breaks nothing under any key of any screen", async () => {
    const watched = await openPage(browser, studio);
    const { page } = watched;
    const pressed = new Set<string>();
    for (const [route, selector] of screens()) {
      // Into a field that is open keys are typed.
      const shown = route.replace("&edit=1", "");
      const there = route === shown ? selector : ".review-segment";
      await visit(watched, shown, there);
      const keys = await page
        .locator(".actions .keys")
        .evaluateAll((all) =>
          all.map((own) => [...own.querySelectorAll("kbd")].map((key) => key.textContent ?? "").join(" ")),
        );
      for (const key of keys) {
        const isOnEveryScreen = /^(?:g .|\?|\.|\/|shift\+[ts])$/.test(key);
        if (isOnEveryScreen && pressed.has(key)) continue;
        pressed.add(key);
        await pressKey(watched, key);
        await page.locator("main h1, main .state, main form").first().waitFor();
        for (const dialog of await page.locator("dialog[open]").all()) {
          await page.keyboard.press("Escape");
          await dialog.waitFor({ state: "hidden" });
        }
        await page.evaluate("document.activeElement?.blur()");
        if (!page.url().endsWith(`#${shown}`)) await visit(watched, shown, there);
      }
      await assertNothingRan(page, route);
    }
    assert.ok(pressed.size > 40, `${pressed.size} keys`);
    assert.deepEqual(watched.foreign, []);
    assert.deepEqual(
      watched.errors.filter((error) => !/400|422|409|404/.test(error)),
      [],
    );
  });
});
