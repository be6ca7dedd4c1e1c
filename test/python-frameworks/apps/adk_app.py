"""Google ADK. pip: google-adk litellm. Modes: tools (AgentTool), transfer (sub_agents), code (SequentialAgent)."""
import os

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
from common import BASE, MODE, find, main

from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai import types


def lookup(key: str) -> str:
    """Looks up the population of a city."""
    return find(key)


async def solve(question, key):
    model = lambda: LiteLlm(model="openai/scripted", api_base=BASE, api_key=key)
    agent = lambda name, **more: LlmAgent(name=name, model=model(), instruction="You are the %s." % name, description="The %s." % name, **more)
    if MODE == "tools":
        root = agent("manager", tools=[AgentTool(agent("researcher", tools=[lookup]))])
    elif MODE == "transfer":
        root = agent("manager", sub_agents=[agent("solver", tools=[lookup])])
    else:
        root = SequentialAgent(name="chain", sub_agents=[agent("researcher", tools=[lookup], output_key="facts"), LlmAgent(name="writer", model=model(), instruction="You are the writer. Facts: {facts}")])
    runner = InMemoryRunner(agent=root, app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="u")
    said = ""
    async for event in runner.run_async(user_id="u", session_id=session.id, new_message=types.Content(role="user", parts=[types.Part(text=question)])):
        if event.content and event.content.parts and event.content.parts[0].text:
            said = event.content.parts[0].text
    return said


main(solve)
