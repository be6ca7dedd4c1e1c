import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import { memoryJournal } from "../../test/fixtures/memory-journal.ts";
import { runChain } from "../chain/run-chain.ts";
import type { ChainRecord } from "../core/chain-record.ts";
import type { Journal } from "../core/journal.ts";
import { defineTask } from "../core/task.ts";
import { defineTool, type Tool } from "../core/tool.ts";
import { webProfile } from "../language/profiles.ts";
import { scriptedModel } from "../testing/index.ts";
import { type FaultPlan, parseFaultPlan, withFaults } from "./with-faults.ts";

const task = defineTask({ id: "t", question: "When was Luzezu founded?" });
const page = "Old. Luzezu is a city. Founded: 1658. See http://lab/374 and section 2.";
const search = defineTool({
  name: "web_search",
  description: "",
  input: z.object({ query: z.string() }),
  run: () => "1. Luzezu http://lab/374",
});
const crawl = defineTool({
  name: "crawl_page",
  description: "",
  input: z.object({ urls: z.array(z.string()) }),
  run: ({ urls }) => `${urls.join(" ")}: ${page}`,
});

async function call(tools: readonly Tool[], name: string, input: unknown, trajectoryId = "chain"): Promise<string> {
  const tool = tools.find((one) => one.name === name)!;
  try {
    return String(await tool.execute(input, { signal: new AbortController().signal, trajectoryId }));
  } catch (error) {
    return `error: ${(error as Error).message}`;
  }
}

const queries = (tools: readonly Tool[], count: number, trajectoryId?: string) =>
  Array.fromAsync({ length: count }, () => call(tools, "web_search", { query: "Luzezu" }, trajectoryId));

describe("withFaults", () => {
  const plan: FaultPlan = {
    seed: 3,
    faults: [
      { kind: "empty", rate: 0.3, tools: ["web_search"] },
      { kind: "error", rate: 0.2 },
    ],
  };

  it("strikes the stated shares of the calls, and lets an equal call work the next time", async () => {
    const [results] = [await queries(withFaults([search], plan), 2000)];
    const shareOf = (pattern: RegExp) => results.filter((result) => pattern.test(result)).length / 2000;
    assert.ok(Math.abs(shareOf(/^no results$/) - 0.3) < 0.04);
    assert.ok(Math.abs(shareOf(/^error: web_search: HTTP 503/) - 0.2) < 0.04);
    assert.ok(Math.abs(shareOf(/^1\. Luzezu/) - 0.5) < 0.04);
    assert.equal(withFaults([search], plan)[0]!.stateful, true);
  });

  it("decides by seed, chain and number of the call", async () => {
    const once = await queries(withFaults([search], plan), 40, "a");
    assert.deepEqual(await queries(withFaults([search], plan), 40, "a"), once);
    assert.notDeepEqual(await queries(withFaults([search], plan), 40, "b"), once);
    assert.notDeepEqual(await queries(withFaults([search], { ...plan, seed: 4 }), 40, "a"), once);
  });

  it("leaves other tools and spared chains alone", async () => {
    const only: FaultPlan = { seed: 1, faults: [{ kind: "error", rate: 1, tools: ["web_search"] }], share: 0.5 };
    const tools = withFaults([search, crawl], only);
    assert.equal(tools[1], crawl);
    const struck = await Promise.all(
      Array.from({ length: 400 }, (_, at) => call(tools, "web_search", { query: "x" }, `chain ${at}`)),
    );
    const share = struck.filter((result) => result.startsWith("error")).length / 400;
    assert.ok(Math.abs(share - 0.5) < 0.08, String(share));
  });

  it("grows its share over a run", async () => {
    const growing: FaultPlan = { seed: 1, faults: [{ kind: "empty", rate: 1 }], share: [0, 1] };
    const struckAt = async (progress: number) => {
      const tools = withFaults([search], growing, progress);
      const results = await Promise.all(Array.from({ length: 200 }, (_, at) => queries(tools, 1, `${progress}-${at}`)));
      return results.filter(([result]) => result === "no results").length / 200;
    };
    assert.equal(await struckAt(0), 0);
    const half = await struckAt(0.5);
    assert.ok(half > 0.38 && half < 0.62, String(half));
    assert.equal(await struckAt(1), 1);
  });

  it("marks struck calls in the chain, and in the journal that resumes it", async () => {
    const fails: FaultPlan = { seed: 1, faults: [{ kind: "timeout", rate: 1, tools: ["web_search"] }] };
    const script = ["web_search>Luzezu", "crawl_page>http://lab/374", "answer>1658"];
    const faults = async (tools: Tool[], journal: Journal<ChainRecord>) => {
      const model = scriptedModel(({ text }) => `<think>t</think><${script[text.split("</observation>").length - 1]}`);
      const { segments } = await runChain(task, { model, tools, profile: webProfile, journal });
      return segments.flatMap(({ call }) => (call ? [[call.tool, call.fault]] : []));
    };
    const struck = [
      ["web_search", "timeout"],
      ["crawl_page", undefined],
    ];
    const journal = memoryJournal<ChainRecord>();
    assert.deepEqual(await faults(withFaults([search, crawl], fails), journal), struck);
    const left = journal.records.filter(({ type }) => type !== "end");
    assert.deepEqual(await faults([search, crawl], memoryJournal(left)), struck);
  });
});

describe("parseFaultPlan", () => {
  it("reads faults, tools and the plan's own numbers", () => {
    assert.deepEqual(parseFaultPlan("web_search:empty=0.4, timeout=0.1,seed=7,share=0.5"), {
      seed: 7,
      share: 0.5,
      faults: [
        { kind: "empty", rate: 0.4, tools: ["web_search"] },
        { kind: "timeout", rate: 0.1 },
      ],
    });
  });

  it("reads a share that grows", () => {
    assert.deepEqual(parseFaultPlan("error=0.2,share=0.5..0.9").share, [0.5, 0.9]);
  });

  it("refuses what is not a fault or not a share", () => {
    for (const text of ["often", "empty", "web_search:lost=0.2", "empty=40", "share=2", "moved=0.5", "empty=0.1..0.2"])
      assert.throws(() => parseFaultPlan(text), { name: "UsageError" }, text);
  });
});
