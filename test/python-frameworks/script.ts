/** What the scripted model says: the part of the agent that is asked, by its instructions and what it has seen. */
import type { ToolDefinition, WireRequest } from "../../src/base/wire/wire-api.ts";
import { asObject } from "../../src/core/json-value.ts";

/** What it says; `{N}` stands for the reply's mark. */
export interface Said {
  role: string;
  text: string;
  calls?: [name: string, input: unknown][];
  final?: boolean;
}

interface Scene {
  system: string;
  /** All messages but the instructions. */
  told: string;
  all: string;
  tools: readonly ToolDefinition[];
  city: string;
  people: number;
  task: string;
  times: number;
  answer: string;
  /** How often the agent has spoken. */
  turns: number;
}

const cities = ["Oslo", "Lima", "Accra", "Hanoi"];

/** Plays one reply. */
export function play(request: WireRequest): Said {
  const own = request.messages.filter(({ role }) => role !== "system");
  const system = request.messages
    .filter(({ role }) => role === "system")
    .map(({ content }) => content)
    .join("\n");
  const told = own
    .map(({ content, toolCalls = [] }) => [content, ...toolCalls.map((call) => call.arguments)].join(" "))
    .join("\n");
  const all = `${system}\n${told}`;
  const index = Number(/\bT(\d)\b/.exec(told)?.[1] ?? /\bT(\d)\b/.exec(all)?.[1] ?? 0);
  const [people, times] = [100000 + 1111 * index, index + 2];
  const scene = {
    system,
    told,
    all,
    tools: request.tools,
    city: cities[index]!,
    people,
    times,
    task: `T${index}`,
    answer: `The answer of T${index} is ${people * times}. {N}`,
    turns: own.filter(({ role }) => role === "assistant").length,
  };
  for (const part of parts) {
    const said = part(scene);
    if (said) return said;
  }
  return { role: "?", text: "I do not know. {N}" };
}

/** Whether a tool has told the number of people. */
const looked = ({ told }: Scene) => /people\. \[s\d/.test(told);
const facts = ({ city, people, task }: Scene) => `${city} has ${people} people (${task}). {N}`;
const errand = ({ city, task }: Scene) => `Find the population of ${city} for ${task}.`;

/** Protocols in text first: their prompts name no role. */
const parts: ((scene: Scene) => Said | undefined)[] = [dspy, selector, smolagents, camel, crew, agent];

function dspy(scene: Scene): Said | undefined {
  const { system, city, answer } = scene;
  if (!system.includes("[[ ## completed ## ]]")) return undefined;
  const fields = (values: Record<string, string>) =>
    [...Object.entries(values), ["completed", ""]].map(([name, value]) => `[[ ## ${name} ## ]]\n${value}`).join("\n\n");
  const step = (thought: string, tool: string, input: object) =>
    fields({ next_thought: `${thought} {N}`, next_tool_name: tool, next_tool_args: JSON.stringify(input) });
  if (system.includes("next_tool_name")) {
    return {
      role: "solver",
      text: looked(scene) ? step("I have it.", "finish", {}) : step("I look it up.", "lookup", { key: city }),
    };
  }
  if (/output fields are:\s+1\. `reasoning`[^\n]*\s+2\. `facts`/.test(system))
    return { role: "facts", text: fields({ reasoning: "I recall. {N}", facts: facts(scene) }) };
  const role = system.includes("`trajectory`") ? "solver" : "reply";
  return { role, final: true, text: fields({ reasoning: "Multiply. {N}", answer }) };
}

/** AutoGen's selector picks who speaks. */
function selector({ all, people }: Scene): Said | undefined {
  if (!/select the next (?:role|participant|speaker|agent)|play the next role/i.test(all)) return undefined;
  const who = !all.includes(`has ${people}`)
    ? "researcher"
    : !all.includes("Draft")
      ? "writer"
      : all.includes("Better") || !all.includes("Name the city")
        ? "critic"
        : "writer";
  return { role: "selector", text: who };
}

function smolagents(scene: Scene): Said | undefined {
  const { system, told, people, times, task, answer, tools } = scene;
  if (!/\bfinal_answer\b/.test(system)) return undefined;
  const sub = told.includes("agent named 'researcher'");
  const role = sub ? "researcher" : "manager";
  const done = sub ? looked(scene) : told.includes(String(people));
  if (tools.length > 0) {
    if (done)
      return { role, text: "", final: !sub, calls: [["final_answer", { answer: sub ? facts(scene) : answer }]] };
    if (sub) return { role, text: "I look it up. {N}", calls: [["lookup", { key: scene.city }]] };
    return { role, text: "I ask the researcher. {N}", calls: [["researcher", { task: errand(scene) }]] };
  }
  const code = (thought: string, lines: string) => `Thought: ${thought} {N}\n<code>\n${lines}\n</code>`;
  if (sub && done) return { role, text: code("I have it.", `final_answer("${facts(scene)}")`) };
  if (sub) return { role, text: code("I look it up.", `print(lookup(key="${scene.city}"))`) };
  // What is computed is never on the wire.
  if (done)
    return {
      role,
      final: true,
      text: code("I multiply.", `final_answer(f"The answer of ${task} is {${people} * ${times}}. {N}")`),
    };
  return { role, text: code("I ask the researcher.", `report = researcher(task="${errand(scene)}")\nprint(report)`) };
}

function camel(scene: Scene): Said | undefined {
  const { system, told, city, answer, people, times } = scene;
  const role = /Never forget you are a (\w+)/i.exec(system)?.[1]?.toLowerCase();
  if (role === "researcher") {
    if (told.includes("Multiply")) return { role, final: true, text: `Solution: ${answer} Next request.` };
    if (!looked(scene)) return { role, text: "I look it up. {N}", calls: [["lookup", { key: city }]] };
    return { role, text: `Solution: ${facts(scene)} Next request.` };
  }
  if (role === undefined) return undefined;
  if (told.includes(String(people * times))) return { role, text: "CAMEL_TASK_DONE {N}" };
  const known = told.includes(String(people));
  return {
    role,
    text: `Instruction: ${known ? `Multiply the population by ${times}.` : `Find the population of ${city}.`}\nInput: None {N}`,
  };
}

/** CrewAI, by tool calls or in text. */
function crew(scene: Scene): Said | undefined {
  const { system, told, city, answer, people } = scene;
  const role = /^You are (Crew Manager|Researcher|Writer)\./m.exec(system)?.[1]?.toLowerCase();
  if (!role) return undefined;
  const final = (text: string) =>
    scene.all.includes("Final Answer:") ? `Thought: I know it now. {N}\nFinal Answer: ${text}` : text;
  if (role === "writer") return { role, final: true, text: final(answer) };
  if (role === "researcher") {
    if (looked(scene)) return { role, text: final(facts(scene)) };
    if (scene.tools.length > 0) return { role, text: "I look it up. {N}", calls: [["lookup", { key: city }]] };
    return { role, text: `Thought: I look it up. {N}\nAction: lookup\nAction Input: {"key": "${city}"}` };
  }
  if (told.includes(String(people))) return { role, final: true, text: final(answer) };
  return { role, text: "I ask the researcher. {N}", calls: [callOf(scene, /delegate/i)] };
}

/** Agents whose instructions say who they are. */
function agent(scene: Scene): Said | undefined {
  const { system, all, told, city, people, task, times, answer, tools } = scene;
  const [, role = "", kind] = /You are (?:the |an? )(\w+)(?: (reviewer))?/i.exec(system || all) ?? [];
  const has = (pattern: RegExp) => tools.find(({ name }) => pattern.test(name));
  if (kind) return { role: `${role} ${kind}`, text: `From the side of ${role}, ${facts(scene)}` };
  switch (role) {
    case "manager": {
      if (told.includes(String(people))) return { role, final: true, text: answer };
      if (/\bhand(?:ed|ing) off\b/i.test(told)) return { role, text: "The solver has it. {N}" };
      return {
        role,
        text: "I ask the researcher. {N}",
        calls: [
          callOf(scene, /research|delegate|transfer|hand_?off|task/i, all.includes("solver") ? "solver" : undefined),
        ],
      };
    }
    case "researcher": {
      if (has(/^lookup$/) && !looked(scene))
        return { role, text: "I look it up. {N}", calls: [["lookup", { key: city }]] };
      const back = has(/^(?:transfer|hand_?off)/i);
      return {
        role,
        text: facts(scene),
        ...(back && { calls: [callOf(scene, /^(?:transfer|hand_?off)/i, "manager")] }),
      };
    }
    case "solver":
      if (!looked(scene)) return { role, text: "I look it up. {N}", calls: [["lookup", { key: city }]] };
      return { role, final: true, text: answer };
    case "analyst":
      return { role, text: `${people} times ${times} is ${people * times} for ${task}. {N}` };
    case "router":
      return { role, text: "geography {N}" };
    case "planner":
      return {
        role,
        text: `The plan for ${task}: {N}\n- ${errand(scene)}\n- Say what times ${times} means for ${task}.`,
      };
    case "worker":
      return {
        role,
        text: /population of/.test(told) ? facts(scene) : `Times ${times} means ${times} of the same (${task}). {N}`,
      };
    case "critic":
      return { role, text: told.includes("Better") ? "APPROVE {N}" : "Name the city in the answer. {N}" };
    case "writer":
      if (told.includes("Name the city")) return { role, final: true, text: `Better, for ${city}: ${answer}` };
      return { role, final: true, text: all.includes("critic") ? `Draft: ${answer}` : answer };
    case "geographer":
    case "aggregator":
    case "synthesizer":
      return { role, final: true, text: answer };
    default:
      return undefined;
  }
}

/** A call of the tool that asks another agent, with what its schema wants. */
function callOf(scene: Scene, pattern: RegExp, to = "researcher"): [string, unknown] {
  const tool =
    scene.tools.find(({ name }) => pattern.test(name) && name.includes(to)) ??
    scene.tools.find(({ name }) => pattern.test(name));
  const schema = asObject(tool?.parameters) ?? {};
  const wanted = Object.entries(asObject(schema["properties"]) ?? {});
  const input = wanted.flatMap(([name, raw]): [string, unknown][] => {
    const type = asObject(raw)?.["type"];
    if (type === "boolean") return [];
    if (/agent|coworker|member|assignee|recipient|^to$/i.test(name) && !/message/i.test(name))
      return [[name, to === "researcher" && /coworker/.test(name) ? "Researcher" : to]];
    if (type === "array") return [[name, [{ role: "user", content: [{ text: errand(scene) }] }]]];
    return type === "string" || type === undefined ? [[name, errand(scene)]] : [];
  });
  return [tool?.name ?? "none", Object.fromEntries(input)];
}
