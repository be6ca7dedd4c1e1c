"""Microsoft Agent Framework. pip: agent-framework-core agent-framework-openai agent-framework-orchestrations. Modes: tools (as_tool), code (SequentialBuilder)."""
from common import BASE, MODE, find, main

from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient
from agent_framework.orchestrations import SequentialBuilder


def lookup(key: str) -> str:
    """Looks up the population of a city."""
    return find(key)


async def solve(question, key):
    client = lambda: OpenAIChatCompletionClient(model="scripted", base_url=BASE, api_key=key)
    researcher = Agent(client(), name="researcher", instructions="You are the researcher.", description="Finds facts.", tools=[lookup])
    if MODE == "tools":
        manager = Agent(client(), name="manager", instructions="You are the manager.", tools=[researcher.as_tool(name="researcher", arg_name="task")])
        return (await manager.run(question)).text
    writer = Agent(client(), name="writer", instructions="You are the writer.")
    workflow = SequentialBuilder(participants=[researcher, writer]).build()
    return str([str(output) for output in (await workflow.run(question)).get_outputs()])


main(solve)
