"""Strands. pip: strands-agents[openai]. Modes: tools (agents as tools), code (a graph), swarm."""
from common import BASE, MODE, find, main

from strands import Agent, tool
from strands.models.openai import OpenAIModel
from strands.multiagent import GraphBuilder, Swarm


@tool
def lookup(key: str) -> str:
    """Looks up the population of a city.

    Args:
        key: the city
    """
    return find(key)


async def solve(question, key):
    model = lambda: OpenAIModel(client_args={"base_url": BASE, "api_key": key}, model_id="scripted")
    agent = lambda name, tools=(): Agent(name=name, model=model(), system_prompt="You are the %s." % name, tools=list(tools), callback_handler=None)
    research = agent("researcher", [lookup])
    if MODE == "tools":

        @tool
        async def researcher(task: str) -> str:
            """Finds facts.

            Args:
                task: what to find
            """
            return str(await research.invoke_async(task))

        return str(await agent("manager", [researcher]).invoke_async(question))
    if MODE == "swarm":
        solver = agent("solver", [lookup])
        done = await Swarm([agent("manager"), solver]).invoke_async(question)
        return str(done.results["solver"].result)
    builder = GraphBuilder()
    builder.add_node(research, "research")
    builder.add_node(agent("writer"), "write")
    builder.add_edge("research", "write")
    builder.set_entry_point("research")
    return str((await builder.build().invoke_async(question)).results["write"].result)


main(solve)
