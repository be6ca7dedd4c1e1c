"""CAMEL. pip: camel-ai mcp==1.30.0 litellm. Modes: tools (one agent with a tool), code (RolePlaying)."""
import importlib.util
import os

# Its tokenizer would be fetched; litellm's package holds the same file.
os.environ["TIKTOKEN_CACHE_DIR"] = os.path.join(os.path.dirname(importlib.util.find_spec("litellm").origin), "litellm_core_utils", "tokenizers")
from common import BASE, MODE, find, main

from camel.agents import ChatAgent
from camel.models import ModelFactory
from camel.societies import RolePlaying
from camel.toolkits import FunctionTool
from camel.types import ModelPlatformType


def lookup(key: str) -> str:
    """Looks up the population of a city.

    Args:
        key: the city
    """
    return find(key)


def solve(question, key):
    model = lambda: ModelFactory.create(model_platform=ModelPlatformType.OPENAI_COMPATIBLE_MODEL, model_type="scripted", url=BASE, api_key=key)
    if MODE == "tools":
        agent = ChatAgent("You are the solver.", model=model(), tools=[FunctionTool(lookup)])
        return agent.step(question).msgs[0].content
    session = RolePlaying(
        assistant_role_name="Researcher",
        user_role_name="Analyst",
        task_prompt=question,
        with_task_specify=False,
        assistant_agent_kwargs={"model": model(), "tools": [FunctionTool(lookup)]},
        user_agent_kwargs={"model": model()},
    )
    message, said = session.init_chat(), ""
    for _ in range(6):
        assistant, user = session.step(message)
        if user.terminated or "CAMEL_TASK_DONE" in user.msg.content:
            break
        said = assistant.msg.content
        message = assistant.msg
    return said


main(solve)
