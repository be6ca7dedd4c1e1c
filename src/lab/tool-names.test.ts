import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runChain } from "../chain/run-chain.ts";
import { tagSpec } from "../language/profile.ts";
import { withTools } from "../language/with-tools.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { createWorld } from "./create-world.ts";
import { memoryLabTools } from "./memory-lab-tools.ts";
import { labProfile } from "./profile.ts";
import { announceTools, needlessTool, renameTags, renameTools, variedNames } from "./tool-names.ts";
import { worldTasks } from "./world-tasks.ts";

describe("tools under other names", () => {
  const names = variedNames(1, "test");

  it("are chosen by the seed, and those of tests are never taught", () => {
    assert.deepEqual(variedNames(1, "test"), names);
    const taught = new Set(Array.from({ length: 60 }, (_, seed) => Object.values(variedNames(seed, "train"))).flat());
    assert.ok(taught.size > 60, `${taught.size}`);
    for (const name of taught) assert.match(name, /^[a-z]+(?:_[a-z]+)?$/);
    for (let seed = 0; seed < 20; seed++)
      for (const name of Object.values(variedNames(seed, "test"))) assert.ok(!taught.has(name));
  });

  it("are called by their new tags and do what they did", async () => {
    const world = createWorld({ seed: 5, pages: 60 });
    const [task] = worldTasks(world, { count: 1, families: ["hop1"] });
    const profile = renameTags(labProfile, names);
    const subject = / of (?:the \w+ )?([A-Z][\w ]+?)[?.]$/.exec(task!.question)![1]!;
    const model = scriptedModel([
      `<think> a</think><plan> b</plan><think> c</think><${names["web_search"]}> ${subject}</${names["web_search"]}>`,
      "<think> d</think><suggested_answer> e</suggested_answer><think> f</think><double_check> score 4</double_check><answer> e</answer>",
    ]);
    const tools = renameTools(memoryLabTools(world), names);
    const asked = announceTools(task!, Object.values(names));
    assert.match(asked.question, /^Tools: <\w+> <\w+> <\w+>\. /);
    const chain = await runChain(asked, { model, tools, profile, systemPrompt: false });
    assert.deepEqual(chain.violations, []);
    assert.match(chain.segments.find(({ by }) => by === "tool")!.text, new RegExp(`^1\\. ${subject} http`));
  });

  it("refuse names that are no tool's or are taken, and let a needless tool join", () => {
    assert.throws(() => renameTags(labProfile, { wiki_search: "find" }), /no tool "wiki_search"/);
    assert.throws(() => renameTags(labProfile, { web_search: "plan" }), /already/);
    const tools = [...memoryLabTools(createWorld({ seed: 5, pages: 60 })), needlessTool()];
    const wider = withTools(
      labProfile,
      tools.map((tool) => ({ name: tool.name, description: tool.description, inputSchema: {} })),
    );
    assert.equal(tagSpec(wider, "weather")?.tool, "weather");
  });
});
