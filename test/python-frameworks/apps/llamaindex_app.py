"""LlamaIndex. pip: llama-index-core llama-index-llms-openai-like. Modes: tools (AgentWorkflow with hand-offs), code (a Workflow of two steps)."""
from common import BASE, MODE, find, main, trace

trace("openinference.instrumentation.llama_index:LlamaIndexInstrumentor")
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.workflow import Event, StartEvent, StopEvent, Workflow, step
from llama_index.llms.openai_like import OpenAILike


def lookup(key: str) -> str:
    """Looks up the population of a city."""
    return find(key)


class Facts(Event):
    question: str
    facts: str


async def solve(question, key):
    llm = OpenAILike(model="scripted", api_base=BASE, api_key=key, is_chat_model=True, is_function_calling_model=True)
    if MODE == "tools":
        manager = FunctionAgent(name="manager", description="Leads.", system_prompt="You are the manager.", llm=llm, can_handoff_to=["solver"])
        solver = FunctionAgent(name="solver", description="Researches and answers.", system_prompt="You are the solver.", llm=llm, tools=[lookup], can_handoff_to=[])
        return str(await AgentWorkflow(agents=[manager, solver], root_agent="manager").run(user_msg=question))

    async def ask(system, user):
        return (await llm.achat([ChatMessage(role="system", content=system), ChatMessage(role="user", content=user)])).message.content

    class Chain(Workflow):
        @step
        async def research(self, ev: StartEvent) -> Facts:
            return Facts(question=ev.question, facts=await ask("You are the researcher.", ev.question))

        @step
        async def write(self, ev: Facts) -> StopEvent:
            return StopEvent(result=await ask("You are the writer.", "%s\nFacts: %s" % (ev.question, ev.facts)))

    return str(await Chain(timeout=60).run(question=question))


main(solve)
