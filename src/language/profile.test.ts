import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CoaError } from "../core/errors.ts";
import type { Segment } from "../core/trajectory.ts";
import { advance, allowedNext, defineProfile, startState, stopStrings } from "./profile.ts";
import { builtInProfiles, codeProfile, multiProfile, webProfile } from "./profiles.ts";
import { systemPrompt } from "./system-prompt.ts";
import { validateSegments } from "./validate.ts";

const model = (tag: string, text: string): Segment => ({ tag, text, by: "model" });
const tool = (text: string): Segment => ({ tag: "observation", text, by: "tool" });
const good = "information_conflict : Good\ntool_effectiveness : Good\ntrajectory_monitoring : Fair";
const poor = good.replace("Fair", "Poor");

const webChain: Segment[] = [
  model("think", "two hops"),
  model("plan", "find the river, then its length"),
  model("think", "search"),
  model("web_search", "river through Lyon"),
  tool("Rhône"),
  model("think", "fine so far"),
  model("reflection", good),
  model("think", "propose"),
  model("suggested_answer", "812 km"),
  model("think", "it agrees with the page"),
  model("double_check", "The score this time is:4"),
  model("answer", "812 km"),
];

function rules(segments: readonly Segment[], profile = webProfile): string[] {
  return validateSegments(profile, segments).map((violation) => violation.rule);
}

function replaced(index: number, ...segments: Segment[]): Segment[] {
  return webChain.toSpliced(index, 1, ...segments);
}

describe("profile", () => {
  it("accepts a chain that follows the rules", () => {
    assert.deepEqual(validateSegments(webProfile, webChain), []);
  });

  it("names the rule that a broken chain breaks, with its position", () => {
    assert.deepEqual(rules(replaced(2)), ["think-missing"]);
    assert.deepEqual(rules(replaced(6, model("reflection", poor))), ["gate-reflection"]);
    assert.deepEqual(rules(replaced(10, model("double_check", "The score this time is:2"))), ["gate-double_check"]);
    assert.deepEqual(rules(replaced(4)), ["observation-missing"]);
    assert.deepEqual(rules(replaced(8, model("suggested_answer", " "))), ["empty-body"]);
    assert.deepEqual(rules(replaced(0, model("think", "now <answer> it"))), ["tag-in-text"]);
    assert.deepEqual(rules([...webChain, model("think", "more")]), ["after-answer"]);
    assert.deepEqual(rules(webChain.slice(0, -1)), ["answer-missing"]);
    assert.deepEqual(rules(replaced(4, model("observation", "I made this up"))), ["author"]);
    assert.deepEqual(rules([{ tag: "text", text: "Sure!", by: "model" }, ...webChain]), ["loose-text"]);
    assert.deepEqual(rules(replaced(6, model("reflection", "all fine"))), ["body-ratings"]);
    assert.equal(validateSegments(webProfile, replaced(2))[0]?.segment, 2);
  });

  it("lets a gate open again after a new plan", () => {
    const recovered = replaced(6, model("reflection", poor), model("think", "again"), model("plan", "look elsewhere"));
    assert.deepEqual(rules(recovered), []);
  });

  it("keeps the code profile's single plan first and its fences strict", () => {
    const code = (body: string) => [
      model("plan", "compute"),
      model("think", "run it"),
      model("code", body),
      tool("4"),
      model("reflection", "as expected"),
      model("think", "done"),
      model("answer", "\\boxed{4}"),
    ];
    assert.deepEqual(rules(code("\n```py\nprint(2+2)\n```\n"), codeProfile), []);
    assert.deepEqual(rules(code("```py\nprint(input())\n```\n```sh\n4\n```"), codeProfile), []);
    assert.deepEqual(rules(code("print(2+2)"), codeProfile), ["body-code"]);
    assert.deepEqual(rules([model("plan", "again"), ...code("```py\nprint(4)\n```")], codeProfile), ["too-many"]);
  });

  it("offers the same tags that the validator accepts", () => {
    let state = startState();
    for (const segment of webChain) {
      assert.ok(allowedNext(webProfile, state).includes(segment.tag), `${segment.tag} after ${state.last}`);
      state = advance(webProfile, state, segment);
    }
    assert.deepEqual(allowedNext(webProfile, state), []);
  });

  it("lets calls stand side by side only where the profile says so", () => {
    const parallel = defineProfile({ ...multiProfile, name: "parallel", maxParallelCalls: 2 });
    const segments = webChain.toSpliced(
      3,
      2,
      model("web_search", "a"),
      model("code", "```python\nprint(1)\n```"),
      tool("A"),
      tool("1"),
    );
    assert.deepEqual(rules(segments, parallel), []);
    assert.deepEqual(rules(segments, multiProfile), ["observation-missing"]);
  });

  it("stops at tool calls and at the answer", () => {
    assert.deepEqual(stopStrings(webProfile), ["</web_search>", "</crawl_page>", "</answer>"]);
  });

  it("refuses a profile that contradicts itself", () => {
    assert.throws(() => defineProfile({ ...webProfile, name: "x", start: ["nowhere"] }), CoaError);
    assert.throws(() => defineProfile({ ...webProfile, name: "x", answer: "final" }), /final/);
  });

  it("tells the model every tag, and prefers a tool's own description", () => {
    for (const profile of Object.values(builtInProfiles)) {
      const prompt = systemPrompt(profile, [{ name: "web_search", description: "Ask the library." }]);
      for (const tag of profile.tags) assert.ok(prompt.includes(`<${tag.name}>`));
      assert.equal(
        prompt.includes("Ask the library."),
        profile.tags.some((tag) => tag.tool === "web_search"),
      );
    }
  });
});
