"""Plain anthropic. pip: anthropic. Modes: tools, chain."""
from common import BASE, MODE, find, main

from anthropic import Anthropic


def solve(question, key):
    client = Anthropic(base_url=BASE.removesuffix("/v1"), api_key=key)

    def agent(system, user, tools=(), run=None):
        messages = [{"role": "user", "content": user}]
        while True:
            said = client.messages.create(model="scripted", max_tokens=500, system=system, messages=messages, tools=list(tools))
            calls = [block for block in said.content if block.type == "tool_use"]
            if not calls:
                return "".join(block.text for block in said.content if block.type == "text")
            messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in said.content]})
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": run(call.input)} for call in calls]
            messages.append({"role": "user", "content": results})

    def tool(name, argument):
        return {"name": name, "input_schema": {"type": "object", "properties": {argument: {"type": "string"}}}}

    if MODE == "tools":
        def research(given):
            return agent("You are the researcher.", given["task"], [tool("lookup", "key")], lambda one: find(one["key"]))

        return agent("You are the manager.", question, [tool("researcher", "task")], research)
    facts = agent("You are the researcher.", question)
    result = agent("You are the analyst.", "Question: %s\nFacts: %s" % (question, facts))
    return agent("You are the writer.", "Write it up:\n%s" % result)


main(solve)
