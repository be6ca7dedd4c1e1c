import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { readJsonArray } from "../base/files/read-json-array.ts";
import { type Trajectory, trajectoryText } from "../core/trajectory.ts";
import { importChains } from "./import-chains.ts";

const web =
  "<think>I need the depth.</think>\n<plan>1. search</plan>\n<think>go</think>\n<web_search>deepest lake</web_search>\n<observation>\n## Web Results\n1. [Baikal](u) <b>1,642</b>\n</observation>\n\n<think>found</think>\n<suggested_answer>1,642 m</suggested_answer>\n<think>sure</think>\n<double_check>The score this time is:4</double_check>\n<answer>1,642 m</answer>";
const mhqa =
  "<think>t</think><plan>p</plan><think>t</think><wiki_search>lake</wiki_search>\n<observation>\nDoc 1\n</observation>\n\n<think>t</think><reflection>fine</reflection><think>t</think><answer>Baikal</answer>";
const code =
  "<plan>p</plan>\n<think>t</think>\n<code>\n```py\nprint('</think>')\n```\n</code>\n<observation>\n</think>\n</observation>\n\n<reflection>ok</reflection>\n<think>t</think>\n<answer>\\boxed{1}</answer>";

describe("importChains", () => {
  let folder = "";
  before(async () => void (folder = await mkdtemp(join(tmpdir(), "coa-import-"))));
  after(() => rm(folder, { recursive: true, force: true }));

  it("reads published chains letter by letter, finds their profile, and reports what does not parse", async () => {
    const rows = [
      { instruction: "Rules.\n\nQuestion: How deep?", input: "", output: web },
      { instruction: "Rules.", input: "Which lake?", output: mhqa },
      { instruction: "Rules. Task: 1?", output: code, system: "You are Qwen." },
      { instruction: "q", input: "", output: "<think>never closed <plan>p</plan><answer>x</answer>" },
      { instruction: "q", input: "", output: "<think>t</think><web_search>x</web_search>" },
      { instruction: "q", input: "", output: "It is Baikal." },
      { instruction: "q", input: "" },
    ];
    const file = join(folder, "WebAgentSFTDataset.json");
    await writeFile(file, JSON.stringify(rows, null, 1));
    const chains: Trajectory[] = [];
    const report = await importChains(file, (chain) => void chains.push(chain));
    assert.deepEqual(report.refused, {
      "tags do not parse: nested": 1,
      "no answer": 1,
      "no tag of a known profile": 1,
      "no output": 1,
    });
    assert.deepEqual([report.rows, report.imported, report.profiles], [7, 3, { web: 1, mhqa: 1, code: 1 }]);
    assert.deepEqual(
      chains.map(({ segments }) => trajectoryText(segments)),
      [web, mhqa, code],
    );
    const [first, second, third] = chains;
    assert.equal(second!.prompt.at(-1)!.content, "Rules.\nWhich lake?");
    assert.deepEqual(
      third!.prompt.map(({ role }) => role),
      ["system", "user"],
    );
    // The empty line after an observation is not the model's to learn.
    const observed = first!.segments.find(({ tag }) => tag === "observation")!;
    assert.deepEqual([observed.by, observed.raw!.endsWith("</observation>\n\n")], ["tool", true]);
    assert.deepEqual(first!.violations, []);
    const broken: Trajectory[] = [];
    await importChains(file, (chain) => void broken.push(chain), { keepBroken: true });
    assert.equal(broken.length, 4);
  });
});

describe("readJsonArray", () => {
  let folder = "";
  before(async () => void (folder = await mkdtemp(join(tmpdir(), "coa-array-"))));
  after(() => rm(folder, { recursive: true, force: true }));
  const read = async (text: string) => {
    const file = join(folder, "x.json");
    await writeFile(file, text);
    return Array.fromAsync(readJsonArray(file));
  };

  it("gives what JSON.parse gives, for arrays and for objects that hold one", async () => {
    const values = [
      { a: '],[{"\\' },
      { list: [1, [2]], text: "x,\n]", half: 3.5, none: null, yes: true },
      { b: { c: [] } },
    ];
    assert.deepEqual(await read(JSON.stringify(values, null, 2)), values);
    assert.deepEqual(await read(`\ufeff  ${JSON.stringify(values)}  `), values);
    assert.deepEqual(await read("[]"), []);
    assert.deepEqual(await read(JSON.stringify({ Version: 1, Data: values, Domain: "[not this]" })), values);
    const many = Array.from({ length: 30_000 }, (_, i) => ({ i, text: "é".repeat(60) }));
    assert.deepEqual(await read(JSON.stringify(many)), many);
  });

  it("says where a file breaks off or is not JSON", async () => {
    await assert.rejects(read('[{"a": 1}, {"a": '), /breaks off after element 1/);
    await assert.rejects(read('[{"a": 1}, {a: 2}]'), /element 2: not JSON/);
    await assert.rejects(read('[{"a": 1}, null]'), /element 2: an element is an object/);
    await assert.rejects(read('{"a": 1}'), /holds no array/);
    await assert.rejects(read("hello"), /holds no array/);
  });
});
