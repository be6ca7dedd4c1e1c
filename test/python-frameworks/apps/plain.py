"""Plain openai. pip: openai. Modes: tools, chain, route, parallel, orchestrator, evaluator."""
import json
from concurrent.futures import ThreadPoolExecutor

from common import BASE, MODE, find, main, trace

trace("openinference.instrumentation.openai:OpenAIInstrumentor")
from openai import OpenAI


def tool(name, argument):
    properties = {argument: {"type": "string"}}
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}


def solve(question, key):
    client = OpenAI(base_url=BASE, api_key=key)

    def ask(system, user):
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        return client.chat.completions.create(model="scripted", messages=messages).choices[0].message.content

    def agent(system, user, tools, run):
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        while True:
            said = client.chat.completions.create(model="scripted", messages=messages, tools=tools).choices[0].message
            if not said.tool_calls:
                return said.content
            messages.append(said.model_dump(exclude_none=True))
            for call in said.tool_calls:
                result = run(json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    def research(given):
        return agent("You are the researcher.", given["task"], [tool("lookup", "key")], lambda one: find(one["key"]))

    if MODE == "tools":
        return agent("You are the manager.", question, [tool("researcher", "task")], research)
    if MODE == "chain":
        facts = ask("You are the researcher. List the facts that the question needs.", question)
        result = ask("You are the analyst. Compute the result from the facts.", "Question: %s\nFacts: %s" % (question, facts))
        return ask("You are the writer. Write the final answer in one sentence.", "Write it up:\n%s" % result)
    if MODE == "route":
        kind = ask("You are the router. Say geography, history or other.", question)
        return ask({"geography": "You are the geographer."}.get(kind.split()[0], "You are the generalist."), question)
    if MODE == "parallel":
        with ThreadPoolExecutor(3) as pool:
            sides = ["You are the %s reviewer." % side for side in ("facts", "method", "risk")]
            views = list(pool.map(lambda system: ask(system, question), sides))
        return ask("You are the aggregator. Put the views together.", "Question: %s\n\n%s" % (question, "\n\n".join(views)))
    if MODE == "orchestrator":
        plan = ask("You are the planner. Write one sub-task for each line.", question)
        steps = [line[2:] for line in plan.splitlines() if line.startswith("- ")]
        with ThreadPoolExecutor(2) as pool:
            parts = list(pool.map(lambda step: ask("You are a worker. Do the sub-task.", step), steps))
        return ask("You are the synthesizer. Answer from the results.", "Question: %s\n%s" % (question, "\n".join(parts)))
    draft = ask("You are the writer. A critic will read it.", question)
    while True:
        view = ask("You are the critic. Say APPROVE or what to improve.", "Question: %s\nAnswer: %s" % (question, draft))
        if view.startswith("APPROVE"):
            return draft
        draft = ask("You are the writer. A critic will read it.", "%s\nYour draft: %s\nFeedback: %s" % (question, draft, view))


main(solve)
