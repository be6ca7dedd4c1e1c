import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import { runChain } from "../chain/run-chain.ts";
import type { ContinueRequest } from "../core/model.ts";
import { defineTask } from "../core/task.ts";
import { defineTool, type Tool } from "../core/tool.ts";
import { writtenForm } from "../core/trajectory.ts";
import { labProfile } from "../lab/profile.ts";
import { scriptedModel, tableTool } from "../testing/index.ts";
import { allowedNext, defineProfile, startState, tagNames, tagSpec, toolTags } from "./profile.ts";
import { builtInProfiles, codeProfile, mhqaProfile, webProfile } from "./profiles.ts";
import { systemPrompt } from "./system-prompt.ts";
import { validateSegments } from "./validate.ts";
import { withTools } from "./with-tools.ts";

const weather = defineTool({
  name: "getWeather",
  description: "Current weather of a city.",
  input: z.object({ city: z.string().describe("name of the city"), unit: z.enum(["C", "F"]).optional() }),
  run: ({ city, unit }) => ({ city, degrees: unit === "F" ? 64 : 18 }),
});
/** As an MCP server offers it: plain JSON Schema, a name with a dash. */
const customers: Tool = {
  name: "crm-find",
  description: "Find a customer.",
  inputSchema: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
  execute: ({ query }: { query: string }) => `customer ${query}`,
};
const task = defineTask({ id: "t", question: "How warm is it at our best customer's?" });
const profiles = { ...builtInProfiles, lab: labProfile };

describe("withTools", () => {
  for (const [name, profile] of Object.entries(profiles)) {
    it(`gives the ${name} profile exactly the tools that exist, in prompt and rules`, () => {
      const first = toolTags(profile)[0]!;
      const cases = [[weather, customers], [tableTool({}, first.tool), weather], toolTags(profile).map((tag) => tableTool({}, tag.tool))]; // biome-ignore format: three cases
      for (const tools of cases) {
        const made = withTools(profile, tools);
        assert.deepEqual(
          toolTags(made)
            .map((tag) => tag.tool)
            .sort(),
          tools.map((tool) => tool.name).sort(),
        );
        const prompt = systemPrompt(made, tools);
        const rules = tagNames(made);
        for (const tag of toolTags(made)) {
          assert.ok(prompt.includes(`<${tag.name}>`), `${tag.name} in the prompt`);
          assert.ok(rules.includes(tag.name), `${tag.name} in the rules`);
        }
        for (const tag of toolTags(profile).filter((one) => !tools.some((tool) => tool.name === one.tool))) {
          assert.doesNotMatch(prompt, new RegExp(`<${tag.name}>`));
          assert.ok(!rules.includes(tag.name));
          if (tag.advice) assert.ok(!prompt.includes(tag.advice), "no advice about a missing tool");
        }
        assert.equal(withTools(made, tools), made, "nothing is left to do");
      }
    });

    it(`lets a chain of the ${name} profile call own tools, whole way, under the profile's rules`, async () => {
      const tools = [weather, customers];
      const made = withTools(profile, tools);
      const requests: ContinueRequest[] = [];
      const model = scriptedModel((request) => {
        requests.push(request);
        return turns(made)[requests.length - 1] ?? "";
      });
      const trajectory = await runChain(task, { model, tools, profile });
      assert.equal(trajectory.answer, "18", JSON.stringify([trajectory.ending, trajectory.segments.map(writtenForm)]));
      assert.deepEqual(trajectory.violations, []);
      assert.deepEqual(validateSegments(made, trajectory.segments), []);
      const observed = trajectory.segments.flatMap(({ call, text }) => (call ? [[call.tool, call.ok, text]] : []));
      assert.deepEqual(observed, [
        ["crm-find", true, "customer best"],
        ["getWeather", true, '{"city":"Lyon","degrees":18}'],
      ]);
      assert.match(requests[0]!.prompt[0]!.content, /<crm_find>: Find a customer\./);
      assert.match(requests[0]!.prompt[0]!.content, /city \(string\): name of the city; unit \("C" or "F", optional\)/);
      assert.deepEqual(
        trajectory.language?.tools.map((tool) => tool.name),
        ["getWeather", "crm-find"],
      );
      assert.deepEqual(trajectory.language?.profile, made);
    });
  }

  it("keeps a profile that fits as it is", () => {
    assert.equal(withTools(mhqaProfile, [tableTool({}, "wiki_search")]), mhqaProfile);
  });

  it("writes calls as the tool's schema asks: text, addresses, a program, or JSON with an example", () => {
    const tool = (properties: Record<string, object>, description = "d") => ({
      ...customers,
      name: "x",
      description,
      inputSchema: { type: "object", properties } as never,
    });
    const body = (one: Tool) => tagSpec(withTools(webProfile, [one]), "x")!.body;
    assert.deepEqual(body(tool({ q: { type: "string" } })), { kind: "text" });
    assert.deepEqual(body(tool({ url: { type: "string" } })), { kind: "urls" });
    assert.deepEqual(body(tool({ code: { type: "string" } }, "Runs Python")), {
      kind: "code",
      fence: "py",
      stdin: false,
    });
    assert.deepEqual(body(tool({ a: { type: "integer" }, b: { enum: ["x", "y"] } })), {
      kind: "json",
      example: '{"a":1,"b":"x"}',
    });
  });

  it("gives tags names that are free", () => {
    const named = (name: string) => ({ ...customers, name });
    const tags = toolTags(withTools(webProfile, ["plan", "think", "My Tool", "my_tool", "answer", "42"].map(named)));
    assert.deepEqual(
      tags.map((tag) => tag.name),
      ["plan_tool", "think_tool", "my_tool", "my_tool_tool", "answer_tool", "tool"],
    );
    assert.deepEqual(
      tags.map((tag) => tag.tool),
      ["plan", "think", "My Tool", "my_tool", "answer", "42"],
    );
  });

  it("lets tools stand side by side where the profile has parallel calls", async () => {
    const profile = { ...mhqaProfile, maxParallelCalls: 2 };
    const model = scriptedModel([
      '<think>both</think><crm_find>a</crm_find><get_weather>```json\n{"city":"Lyon"}\n```</get_weather>',
      "<think>done</think><answer>18</answer>",
    ]);
    const trajectory = await runChain(task, { model, tools: [weather, customers], profile });
    assert.deepEqual(trajectory.violations, []);
    assert.deepEqual(
      trajectory.segments.map((one) => one.tag),
      ["think", "crm_find", "get_weather", "observation", "observation", "think", "answer"],
    );
    assert.equal(trajectory.usage.modelCalls, 2);
  });

  it("is an error before the first call where the tools make no sense", async () => {
    const never = scriptedModel(() => assert.fail("the model was called"));
    const run = (profile: typeof webProfile, tools: Tool[]) => runChain(task, { model: never, tools, profile });
    await assert.rejects(run(webProfile, []), /the web profile calls web_search, crawl_page, and no tool was given/);
    const chained = defineProfile({
      name: "chained",
      purpose: "p",
      start: ["first"],
      tags: [
        { name: "first", job: "j", body: { kind: "text" }, tool: "a", think: "optional", next: ["second"] },
        { name: "second", job: "j", body: { kind: "text" }, tool: "b", think: "optional", next: ["answer"] },
        { name: "answer", job: "j", body: { kind: "text" }, think: "optional", next: [] },
      ],
    });
    await assert.rejects(run(chained, [{ ...customers, name: "b" }]), /no rule that leads to the tool b/);
    await assert.rejects(
      run(chained, [{ ...customers, name: "a" }]),
      /no way to its answer|nothing left to do after first without second/,
    );
  });

  it("tells a model that calls a missing tool which tools there are", async () => {
    const known = await runChain(task, {
      model: scriptedModel([
        "<plan>p</plan><think>t</think><code>```py\nprint(1)\n```</code>",
        "<think>t</think><answer>1</answer>",
      ]),
      tools: [customers],
      profile: codeProfile,
      enforcement: "report",
    });
    assert.match(
      known.segments.find((one) => one.by === "tool")!.text,
      /^error: there is no tool code here\. Tools: crm-find\.$/,
    );
  });

  it("joins a profile of roles alone", () => {
    const thinker = defineProfile({
      name: "thinker",
      purpose: "p",
      start: ["draft"],
      tags: [
        { name: "draft", job: "j", body: { kind: "text" }, think: "optional", next: ["answer"] },
        { name: "answer", job: "j", body: { kind: "text" }, think: "optional", next: [] },
      ],
    });
    const made = withTools(thinker, [customers]);
    assert.ok(allowedNext(made, startState()).includes("crm_find"));
    assert.equal(withTools(thinker, []), thinker);
  });
});

/** What a model writes to use both tools and answer, in any of the profiles. */
function turns(profile: typeof webProfile): string[] {
  const has = (name: string) => tagSpec(profile, name) !== undefined;
  const think = (tag: string) => (tagSpec(profile, tag)!.think === "required" ? "<think>t</think>" : "");
  const write = (tag: string, body: string) => `${think(tag)}<${tag}>${body}</${tag}>`;
  const between = profile.name === "code" ? write("reflection", "fine") : "";
  const check = has("double_check")
    ? write("suggested_answer", "18") +
      write("double_check", profile.name === "lab" ? "score 4" : "The score this time is:4")
    : "";
  return [
    write("plan", "look") + write("crm_find", "best"),
    between + write("get_weather", '```json\n{"city":"Lyon"}\n```'),
    between + check + write("answer", "18"),
  ];
}
