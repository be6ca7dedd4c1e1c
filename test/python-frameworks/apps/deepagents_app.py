"""deepagents. pip: deepagents langchain-openai. Mode: tools (a sub-agent by the task tool)."""
from common import BASE, find, main

from deepagents import create_deep_agent
from langchain_openai import ChatOpenAI


def lookup(key: str) -> str:
    """Looks up the population of a city."""
    return find(key)


async def solve(question, key):
    model = ChatOpenAI(model="scripted", base_url=BASE, api_key=key)
    sub = {"name": "researcher", "description": "Finds facts.", "system_prompt": "You are the researcher.", "tools": [lookup]}
    agent = create_deep_agent(model=model, tools=[], system_prompt="You are the manager.", subagents=[sub])
    return (await agent.ainvoke({"messages": [{"role": "user", "content": question}]}))["messages"][-1].content


main(solve)
