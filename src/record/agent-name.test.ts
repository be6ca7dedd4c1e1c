import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { nameFromCall, toldName } from "./agent-name.ts";

describe("what an agent is called", () => {
  const named = (name: string, input: object) => nameFromCall({ id: "c", name, arguments: JSON.stringify(input) });

  it("is in the arguments of a tool that starts whichever agent is meant", () => {
    assert.equal(named("delegate_task_to_member", { member_id: "researcher", task: "Find it." }), "researcher");
    assert.equal(named("delegate_task", { task: "Find it.", targetAgents: ["Writer"] }), "Writer");
    assert.equal(named("delegate_work_to_coworker", { task: "t", context: "c", coworker: "Researcher" }), "Researcher");
    assert.equal(named("task", { description: "d", subagent_type: "critic" }), "critic");
  });

  it("is the tool's own name where a tool is an agent, or where several are meant", () => {
    assert.equal(named("research_agent", { input: "Find the member of parliament." }), "research_agent");
    assert.equal(named("lookup", { member: "Oslo" }), "lookup");
    assert.equal(named("delegate_task", { task: "t", targetAgents: ["Writer", "Critic"] }), "delegate_task");
  });

  it("is in instructions, with an article or without", () => {
    assert.equal(toldName("You are Researcher. You find facts."), "researcher");
    assert.equal(toldName("You are the fact checker, be brief."), "fact_checker");
    assert.equal(toldName("You are helpful."), undefined);
  });
});
