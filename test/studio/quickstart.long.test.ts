/**
 * Every screen over real data: a quickstart of the `--fast` kind with fewer tasks, and traces that other frameworks left,
 * imported. Each screen is free of violations of accessibility in light and dark, is no wider than a window of 1280 or 800
 * pixels, and shows the same when its address is loaded again. COA_QUICKSTART names the folder of a quickstart that has ended
 * and is looked at instead.
 */
import assert from "node:assert/strict";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { readAllJsonl } from "../../src/base/files/read-jsonl.ts";
import { main } from "../../src/cli/main.ts";
import { createOutput } from "../../src/cli/output.ts";
import { runQuickstart } from "../../src/lab/quickstart/run-quickstart.ts";
import { quickstartSizes } from "../../src/lab/quickstart/settings.ts";
import type { ItemPage, ItemView } from "../../src/studio/api/query-items.ts";
import type { Studio } from "../../src/studio/api/serve-studio.ts";
import type { RolloutLine } from "../../src/train/credit-group.ts";
import { takePictures } from "./guide-pictures.ts";
import { useWorkspace, withStudio } from "./run-studio.ts";
import {
  assertAccessible,
  launchBrowser,
  noBrowser,
  openPage,
  until,
  visit,
  type WatchedPage,
} from "./studio-browser.ts";

const traces = join(import.meta.dirname, "..", "fixtures", "traces");
const { fast } = quickstartSizes;

/** Runs a command of `coa` that must succeed. */
async function coa(...args: string[]): Promise<void> {
  let said = "";
  const sink = { write: (text: string) => (said += text) };
  const code = await main(args, createOutput({ stdout: sink, stderr: sink }), new AbortController().signal);
  assert.equal(code, 0, `coa ${args.join(" ")}: ${said}`);
}

describe("the studio over real data", { skip: noBrowser }, () => {
  let folder: string;
  let browser: Browser;
  let leaveWorkspace: () => void;
  const at = (...parts: string[]) => join(folder, ...parts);

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "coa-real-"));
    leaveWorkspace = useWorkspace(folder);
    const given = process.env["COA_QUICKSTART"];
    const settings = { ...fast, teamTasks: 40, testTasks: 6, rl: { ...fast.rl, steps: 2, groups: 3, samples: 4 } };
    if (given) await cp(given, at("quickstart"), { recursive: true });
    else await runQuickstart({ folder: at("quickstart"), settings, seed: 1 });
    const chains = at("quickstart", "distill", "trajectories.jsonl");
    const tokenizer = at("quickstart", "rl", "model");
    await coa("dataset", "build", chains, "--tokenizer", tokenizer, "--out", at("dataset"));
    await coa("record", "import", traces, "--out", at("foreign", "runs.jsonl"));
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    leaveWorkspace();
    await rm(folder, { recursive: true, force: true });
  });

  async function items(studio: Pick<Studio, "origin" | "token">, query: string): Promise<ItemView[]> {
    const response = await fetch(`${studio.origin}/api/items?${query}&limit=500`, {
      headers: { authorization: `Bearer ${studio.token}` },
    });
    return ((await response.json()) as ItemPage).rows;
  }

  /** Everything that is asked of a screen. */
  async function look(watched: WatchedPage, route: string, selector: string): Promise<void> {
    const { page } = watched;
    await visit(watched, route, selector);
    await page.locator("main [role=status].state").waitFor({ state: "detached" });
    await assertAccessible(watched, route);
    const text = await page.locator("main").innerText();
    await page.reload();
    await page.waitForSelector(selector);
    await until(watched, `document.querySelector("main").innerText === ${JSON.stringify(text)}`);
    for (const width of [800, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      const wide = await page.evaluate("document.documentElement.scrollWidth");
      assert.ok((wide as number) <= width, `${route} is ${wide} wide in a window of ${width}`);
    }
  }

  it("shows a quickstart on every screen", async () => {
    await withStudio([], async (studio) => {
      const watched = await openPage(browser, studio);
      await watched.page.setViewportSize({ width: 1280, height: 800 });
      await until(
        watched,
        `!document.querySelector(".indexing") && document.querySelector(".lineage-column.evaluation")`,
      );
      const [chain] = await items(studio, "kind=chain&file=quickstart/distill/trajectories.jsonl");
      const lines = await readAllJsonl<RolloutLine>(at("quickstart", "rl", "run", "rollout-figures.jsonl"));
      const used = lines.find(({ kept }) => kept)!.rollout;
      const rollouts = await items(studio, "kind=chain&file=quickstart/rl/run/rollouts.jsonl");
      const rollout = rollouts.find((one) => one.rollout === used);
      const [answer] = await items(studio, "kind=chain&file=quickstart/evaluate/chain-rl/runs.jsonl");
      const part = encodeURIComponent;
      const models = `model=${part("quickstart/sft/model")}&with=${part("quickstart/rl/model")}`;
      const screens: [route: string, selector: string][] = [
        ["/", ".lineage path"],
        ["/runs?row=2&sort=-tokens", ".virtual-row.active"],
        ["/chains?q=step&row=1", ".virtual-row.active"],
        [`/chains/${part(chain!.key)}?at=seg-1`, ".segment.open"],
        [`/chains/${part(chain!.key)}/tokens?at=40`, ".token-facts dl"],
        [`/chains/${part(rollout!.key)}?at=seg-1`, ".segment.open"],
        [`/chains/${part(rollout!.key)}/tokens?colour=logprob&at=40`, ".token-legend"],
        [`/chains/${part(rollout!.key)}/tokens?colour=advantage&at=60`, ".token-legend"],
        [`/chains/${part(rollout!.key)}/tokens?colour=diff&${models}&at=60`, ".token-legend"],
        ["/distill", ".funnel-stages"],
        ["/datasets?row=1", ".example"],
        ["/training?step=1&group=1", ".rollout-groups li.selected"],
        [`/training?task=${part(rollout!.taskId)}`, ".rollout-groups li"],
        ["/evaluations?row=1", ".virtual-row.active"],
        [`/compare/${part(answer!.taskId)}?row=1`, ".compare-rows .open"],
        ["/review?only=all&seg=1", ".review-segment.selected"],
        ["/play", ".play-try button"],
      ];
      for (const [route, selector] of screens) await look(watched, route, selector);
      assert.deepEqual(watched.foreign, []);
      assert.deepEqual(watched.errors, []);
    });
  });

  it("gives the guide its pictures of training, evaluation, review and playground", async () => {
    await withStudio([], async (studio) => {
      const watched = await openPage(browser, studio);
      const { page } = watched;
      await until(watched, `document.querySelector(".lineage-column.evaluation")`);
      await visit(watched, "/play", ".play-try button");
      await page.locator(".play-try button").first().click();
      await page.locator(".play-end", { hasText: "tokens written" }).waitFor();
      await takePictures(watched, [["studio-play", page.url().split("#")[1]!, ".play-end a"]]);
      const chains = `file=${encodeURIComponent("quickstart/distill/trajectories.jsonl")}`;
      await takePictures(watched, [
        ["studio-training", "/training?step=2", ".rollout-groups li"],
        ["studio-matrix", "/evaluations?only=failed", ".matrix-row", "dark"],
        ["studio-review", `/review?${chains}&seg=1`, ".review-segment.selected"],
      ]);
      assert.deepEqual(watched.errors, []);
    });
  });

  it("shows what other frameworks recorded", async () => {
    assert.ok((await readdir(traces)).length >= 10);
    await withStudio([at("foreign")], async (studio) => {
      const watched = await openPage(browser, studio);
      await watched.page.setViewportSize({ width: 1280, height: 800 });
      await until(watched, `!document.querySelector(".indexing") && document.querySelector(".card")`);
      const runs = await items(studio, "kind=run");
      assert.ok(runs.length >= 10, `${runs.length} runs`);
      await look(watched, "/", ".card");
      await look(watched, "/runs?row=3", ".virtual-row.active");
      for (const { key } of runs) {
        await visit(watched, `/runs/${encodeURIComponent(key)}?at=s%3Astep-1`, ".gantt-bar");
        assert.equal(await watched.page.locator(".problem").count(), 0, key);
      }
      for (const route of ["/distill", "/datasets", "/training", "/evaluations"])
        await look(watched, route, ".state h1");
      assert.deepEqual(watched.foreign, []);
      assert.deepEqual(watched.errors, []);
    });
  });
});
