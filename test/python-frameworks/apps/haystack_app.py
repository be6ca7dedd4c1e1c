"""Haystack. pip: haystack-ai. Modes: tools (an agent as a tool), code (a pipeline of two generators)."""
import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
from typing import Annotated

from common import BASE, MODE, find, main, trace

trace("openinference.instrumentation.haystack:HaystackInstrumentor")
from haystack import Pipeline
from haystack.components.agents import Agent
from haystack.components.builders import ChatPromptBuilder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import tool
from haystack.utils import Secret


@tool
def lookup(key: Annotated[str, "the city"]) -> str:
    """Looks up the population of a city."""
    return find(key)


def solve(question, key):
    model = lambda: OpenAIChatGenerator(model="scripted", api_base_url=BASE, api_key=Secret.from_token(key))
    if MODE == "tools":
        research = Agent(chat_generator=model(), tools=[lookup], system_prompt="You are the researcher.")

        @tool
        def researcher(task: Annotated[str, "what to find"]) -> str:
            """Finds facts."""
            return research.run(messages=[ChatMessage.from_user(task)])["last_message"].text

        manager = Agent(chat_generator=model(), tools=[researcher], system_prompt="You are the manager.")
        return manager.run(messages=[ChatMessage.from_user(question)])["last_message"].text
    pipeline = Pipeline()
    template = lambda system, user: ChatPromptBuilder(template=[ChatMessage.from_system(system), ChatMessage.from_user(user)], required_variables="*")
    pipeline.add_component("ask", template("You are the researcher.", "{{question}}"))
    pipeline.add_component("research", model())
    pipeline.add_component("tell", template("You are the writer.", "{{question}}\nFacts: {{facts[0].text}}"))
    pipeline.add_component("write", model())
    pipeline.connect("ask.prompt", "research.messages")
    pipeline.connect("research.replies", "tell.facts")
    pipeline.connect("tell.prompt", "write.messages")
    return pipeline.run({"ask": {"question": question}, "tell": {"question": question}})["write"]["replies"][0].text


main(solve)
