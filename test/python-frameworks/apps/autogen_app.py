"""AutoGen. pip: autogen-agentchat autogen-ext[openai]. Modes: tools (swarm), code (round robin of writer and critic), selector."""
from common import BASE, MODE, find, main, trace

trace("openinference.instrumentation.autogen_agentchat:AutogenAgentChatInstrumentor")
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination, TextMentionTermination
from autogen_agentchat.teams import RoundRobinGroupChat, SelectorGroupChat, Swarm
from autogen_ext.models.openai import OpenAIChatCompletionClient


async def lookup(key: str) -> str:
    """Looks up the population of a city."""
    return find(key)


async def solve(question, key):
    client = OpenAIChatCompletionClient(model="gpt-4o-mini", api_key=key, base_url=BASE)
    stop = TextMentionTermination("APPROVE") | MaxMessageTermination(24)
    if MODE == "tools":
        manager = AssistantAgent("manager", model_client=client, handoffs=["researcher"], system_message="You are the manager.")
        researcher = AssistantAgent("researcher", model_client=client, tools=[lookup], handoffs=["manager"], system_message="You are the researcher.")
        team = Swarm([manager, researcher], termination_condition=TextMentionTermination("The answer of", sources=["manager"]) | MaxMessageTermination(24))
    else:
        researcher = AssistantAgent("researcher", model_client=client, tools=[lookup], reflect_on_tool_use=True, description="Finds facts.", system_message="You are the researcher.")
        writer = AssistantAgent("writer", model_client=client, description="Writes the answer.", system_message="You are the writer. A critic will read it.")
        critic = AssistantAgent("critic", model_client=client, description="Checks the answer.", system_message="You are the critic. Give feedback on the answer. Say APPROVE when it is good.")
        team = RoundRobinGroupChat([writer, critic], termination_condition=stop) if MODE == "code" else SelectorGroupChat([researcher, writer, critic], model_client=client, termination_condition=stop)
    done = await team.run(task=question)
    said = [one.to_text() for one in done.messages if one.source in ("writer", "manager") and one.type == "TextMessage"]
    await client.close()
    return said[-1]


main(solve)
