import type { WireApi } from "../../src/base/wire/wire-api.ts";
import type { Message } from "../../src/core/message.ts";
import { readAnswer } from "../../src/record/read-answer.ts";
import { writeRequest } from "../fixtures/wire-requests.ts";

/** A manager and its agents in a few lines, over any API and any way to send. */
export async function runTeam(
  api: WireApi,
  origin: string,
  stream: boolean,
  send: typeof post = post,
  manager: "manager" | "pmanager" = "manager",
): Promise<string> {
  const schema = { type: "object", properties: { task: { type: "string" } } };
  const tools = {
    manager: ["search_agent", "code_agent"],
    pmanager: ["search_agent", "code_agent"],
    search: ["web_search"],
    code: ["run_code"],
  };
  const agent = async (role: keyof typeof tools, task: string): Promise<string> => {
    const messages: Message[] = [
      { role: "system", content: `You are the ${role}.` },
      { role: "user", content: task },
    ];
    for (;;) {
      const offered = tools[role].map((name) => ({ name, description: name, parameters: schema }));
      const { path, body } = writeRequest(api, { model: "m", messages, tools: offered, stream });
      const { text: answer, contentType } = await send(origin + path, body);
      const { text, toolCalls } = readAnswer(api, answer, contentType);
      if (toolCalls.length === 0) return text;
      const ids = toolCalls.map((call, index) => ({ ...call, id: call.id || `local-${messages.length}-${index}` }));
      messages.push({ role: "assistant", content: text, toolCalls: ids });
      const work = async (call: (typeof ids)[number]): Promise<Message> => {
        const { task: given = "" } = JSON.parse(call.arguments) as { task?: string };
        const result =
          call.name === "search_agent"
            ? await agent("search", given)
            : call.name === "code_agent"
              ? await agent("code", given)
              : call.name === "run_code"
                ? "5953"
                : "launched in 1990. example.org";
        return { role: "tool", content: result, toolCallId: call.id };
      };
      messages.push(...(await Promise.all(ids.map(work))));
    }
  };
  return agent(manager, "When was the telescope launched, and what is that year times 3 minus 17?");
}

async function post(url: string, body: object): Promise<{ text: string; contentType: string }> {
  const headers = { "content-type": "application/json", authorization: "Bearer sk-secret-secret-secret" };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return { text: await answer.text(), contentType: answer.headers.get("content-type") ?? "" };
}
