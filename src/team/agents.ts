/**
 * The members of the team: for each its name, its job as the others are told it, its instructions and its tools. The
 * standard team follows OAgents: a manager who plans and delegates, agents for searching, reading and programming, a
 * reflector who judges the work so far and a verifier who judges the answer.
 */
import { UsageError } from "../core/errors.ts";
import type { ChatTool } from "../core/model.ts";
import { type Tool, toolJsonSchema } from "../core/tool.ts";
import { callsInText } from "../language/team-moves.ts";
import * as told from "./instructions.ts";

export interface TeamMember {
  /** Unique; the manager calls it by this name. */
  name: string;
  /** `manager`, `search`, `reader`, `code`, `reflector`, `verifier`, or a role of your own. */
  role: string;
  /** What it can do, in one sentence, as the manager is told. */
  purpose: string;
  instructions: string;
  tools: readonly Tool[];
}

const owners: Readonly<Record<string, string>> = {
  web_search: "search",
  wiki_search: "search",
  crawl_page: "reader",
  visual_inspector: "reader",
  code: "code",
};

const ownTools = (tools: readonly Tool[], role: string) =>
  tools.filter((tool) => (owners[tool.name] ?? "specialist") === role);

/** The standard team over these tools: an agent per kind of work that the tools allow. */
export function standardTeam(tools: readonly Tool[]): TeamMember[] {
  const member = (name: string, role: keyof typeof told.purposes, instructions: string): TeamMember => {
    return { name, role, purpose: told.purposes[role], instructions, tools: ownTools(tools, role) };
  };
  return [
    member("manager", "manager", told.managerInstructions),
    ...[
      member("search_agent", "search", told.searchInstructions),
      member("reader_agent", "reader", told.readerInstructions),
      member("code_agent", "code", told.codeInstructions),
      member("specialist_agent", "specialist", told.specialistInstructions),
    ].filter((worker) => worker.tools.length > 0),
    member("reflector", "reflector", told.reflectorInstructions),
    member("verifier", "verifier", told.verifierInstructions),
  ];
}

/** How a call of a tool is written as text, for models that know no other way. */
function howToCall(tool: Tool): string {
  const [first = "input", ...rest] = Object.keys(toolJsonSchema(tool).properties ?? {});
  if (first === "code" || rest.includes("code")) return callsInText.program;
  return `${tool.description} ${callsInText.line}${tool.name}(${first}="...")`;
}

/** A team that small models can play: a planner, a worker per kind of tool, a verifier, each in its turn. */
export function smallTeam(tools: readonly Tool[]): TeamMember[] {
  const worker = (name: string, role: string, instructions: string): TeamMember => {
    const own = ownTools(tools, role);
    return { name, role, purpose: "", instructions: [instructions, ...own.map(howToCall)].join("\n\n"), tools: own };
  };
  return [
    { name: "planner", role: "planner", purpose: "", instructions: told.plannerInstructions, tools: [] },
    ...[
      worker("searcher", "search", told.searcherInstructions),
      worker("reader", "reader", told.pageReaderInstructions),
      worker("coder", "code", told.coderInstructions),
      worker("specialist", "specialist", told.specialistInstructions),
    ].filter((member) => member.tools.length > 0),
    { name: "verifier", role: "verifier", purpose: "", instructions: told.solverInstructions, tools: [] },
  ];
}

/** The one member with a role; a team can't work without it. */
export function memberWithRole(team: readonly TeamMember[], role: string): TeamMember {
  const member = team.find((candidate) => candidate.role === role);
  if (!member) throw new UsageError(`the team has no member with the role "${role}"`);
  return member;
}

/** Prefix of the call that moves control in the hand-off topology. */
export const transferPrefix = "transfer_to_";

/** The calls by which a manager activates the others; the verifier is called by the rules, not by the manager. */
export function delegationTools(team: readonly TeamMember[], handoff: boolean): ChatTool[] {
  return team
    .filter((member) => member.role !== "manager" && member.role !== "verifier")
    .map((member) => ({
      name: handoff ? `${transferPrefix}${member.name}` : member.name,
      description: member.purpose,
      parameters: {
        type: "object",
        properties: { task: { type: "string", description: "What it should do, with everything it needs to know." } },
        required: ["task"],
      },
    }));
}

const toolLists = new WeakMap<TeamMember, ChatTool[]>();

/** A member's own tools as a model is told of them; made once, so that they are counted once. */
export function chatTools(member: TeamMember): ChatTool[] {
  let tools = toolLists.get(member);
  if (!tools) {
    tools = member.tools.map((tool) => ({
      name: tool.name,
      description: tool.description,
      parameters: toolJsonSchema(tool),
    }));
    toolLists.set(member, tools);
  }
  return tools;
}
