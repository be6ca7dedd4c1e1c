import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ChatTool } from "../core/model.ts";
import { writtenCalls } from "./written-calls.ts";

const text = { type: "string" } as const;
const tools: ChatTool[] = [
  { name: "code", description: "", parameters: { type: "object", properties: { code: text }, required: ["code"] } },
  {
    name: "web_search",
    description: "",
    parameters: { type: "object", properties: { query: text, k: { type: "number" } } },
  },
];
const program = 'print("a (b), c = 3")\nx = 1, 2';

/** The forms in which models write the same call. */
const forms: Record<string, string> = {
  "a JSON fence": `I compute it.\n\`\`\`json\n${JSON.stringify({ name: "code", arguments: { code: program } }, null, 2)}\n\`\`\``,
  "bare JSON": JSON.stringify({ name: "code", parameters: { code: program } }),
  "OpenAI's nesting": JSON.stringify([{ type: "function", function: { name: "code", arguments: { code: program } } }]),
  "arguments as a string": JSON.stringify({ name: "code", arguments: JSON.stringify({ code: program }) }),
  "Hermes tags": `<tool_call>\n${JSON.stringify({ name: "code", arguments: { code: program } })}\n</tool_call>`,
  "function tags": `<function=code>\n<parameter=code>\n${program}\n</parameter>\n</function>`,
  "a Python call": `code(code=${JSON.stringify(program)})`,
  "a Python call in a fence": `\`\`\`python\nresult = code("""${program}""")\n\`\`\``,
  "a program in a fence": `Here it is:\n\n\`\`\`python\n${program}\n\`\`\`\nThe output will be 3.`,
};

describe("writtenCalls", () => {
  for (const [form, written] of Object.entries(forms)) {
    it(`reads ${form}`, () => {
      const { calls } = writtenCalls(written, tools, { programs: true });
      assert.deepEqual(
        calls.map(({ name, arguments: input }) => [name, JSON.parse(input)]),
        [["code", { code: program }]],
      );
    });
  }

  it("reads several calls, with numbers and bare values", () => {
    const { said, calls } = writtenCalls('First:\nweb_search("Lake Orn", k=3)', tools);
    assert.equal(said, "First:");
    assert.deepEqual(JSON.parse(calls[0]!.arguments), { query: "Lake Orn", k: 3 });
    const two = ["a", "b"].map(
      (query) => `<tool_call>{"name": "web_search", "arguments": {"query": "${query}"}}</tool_call>`,
    );
    assert.equal(writtenCalls(two.join("\n"), tools).calls.length, 2);
  });

  it("reads a call as a history shows it", () => {
    const { calls } = writtenCalls('web_search({"query":"a (b)"})', tools);
    assert.deepEqual(calls, [{ name: "web_search", arguments: '{"query":"a (b)"}' }]);
  });

  it("leaves an answer alone", () => {
    const answers = [
      "Answer: 31",
      '{"name": "Ada", "age": 36}',
      '```json\n{"a": 1}\n```',
      "f(x) = x + 1",
      "1. Call the coder.",
    ];
    for (const answer of answers) assert.deepEqual(writtenCalls(answer, tools), { said: answer, calls: [] });
    const program = "```python\nprint(1)\n```";
    assert.deepEqual(writtenCalls(program, tools).calls, []); // a report may show a program
    assert.deepEqual(writtenCalls(program, tools.slice(1), { programs: true }).calls, []);
  });
});
