"""OpenAI Agents. pip: openai-agents. Modes: tools (as_tool), handoff, code (two runs in a row), guard (an input guardrail)."""
from common import BASE, MODE, find, main, trace

trace("openinference.instrumentation.openai_agents:OpenAIAgentsInstrumentor")
from agents import Agent, GuardrailFunctionOutput, InputGuardrail, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
import os

if not os.environ.get("OTLP"):
    set_tracing_disabled(True)


@function_tool
def lookup(key: str) -> str:
    """Looks up the population of a city."""
    return find(key)


async def solve(question, key):
    model = OpenAIResponsesModel(model="scripted", openai_client=AsyncOpenAI(base_url=BASE, api_key=key))
    researcher = Agent(name="researcher", instructions="You are the researcher.", tools=[lookup], model=model)
    if MODE == "code":
        writer = Agent(name="writer", instructions="You are the writer.", model=model)
        facts = (await Runner.run(researcher, question)).final_output
        return (await Runner.run(writer, "%s\nFacts: %s" % (question, facts))).final_output
    if MODE == "handoff":
        solver = Agent(name="solver", instructions="You are the solver.", tools=[lookup], model=model, handoff_description="Researches and answers.")
        manager = Agent(name="manager", instructions="You are the manager.", handoffs=[solver], model=model)
    else:
        ask = researcher.as_tool("researcher", "Finds facts.")
        manager = Agent(name="manager", instructions="You are the manager.", tools=[ask], model=model)
    return (await Runner.run(manager, question)).final_output


main(solve)
