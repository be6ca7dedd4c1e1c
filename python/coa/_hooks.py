"""What frameworks call a run, an agent and a tool call: their own functions, wrapped where they are found.

Every name below is another project's internal one and may change: a hook that does not fit any more is left out, and the recording
is then inferred where it would have been known. Nothing here may break the program.
"""
import functools
import importlib.abc
import inspect
import sys

from . import _context

_waiting = {}  # [module] what to do once it is imported
on_answer = None  # takes a run's id and what its outermost call gave back


def when_imported(module, act):
    """Calls `act(module)` once the module is there."""
    if module in sys.modules:
        _try(act, sys.modules[module])
    else:
        _waiting.setdefault(module, []).append(act)


def _try(act, *args):
    try:
        return act(*args)
    except Exception:  # another version: inferred instead of known
        return None


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name not in _waiting:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
                execute = spec.loader.exec_module

                def exec_module(module):
                    execute(module)
                    for act in _waiting.pop(name, []):
                        _try(act, module)

                _try(setattr, spec.loader, "exec_module", exec_module)
                return spec
        return None


def install():
    """Waits for the frameworks of the table."""
    sys.meta_path.insert(0, _Finder())
    for module, function, scope_of in _frameworks:
        when_imported(module, functools.partial(_wrap, function, scope_of))
    when_imported("langchain_core.tracers.context", _follow_langchain)


def _wrap(function, scope_of, module):
    *path, name = function.split(".")
    owner = module
    for part in path:
        owner = getattr(owner, part)
    plain = owner.__dict__[name] if inspect.isclass(owner) else getattr(owner, name)
    if isinstance(plain, (staticmethod, classmethod)):
        return
    setattr(owner, name, _scoped(plain, scope_of))


def _scoped(plain, scope_of):
    def scope(args, options):
        found = _try(scope_of, args, options)
        return found if found is not None else _context.scope.get()

    if inspect.isasyncgenfunction(plain):

        @functools.wraps(plain)
        def streams(*args, **options):
            return _stream(plain(*args, **options), scope(args, options))

        return streams
    if inspect.iscoroutinefunction(plain):

        @functools.wraps(plain)
        async def awaited(*args, **options):
            inner, outer = scope(args, options), _context.scope.get()
            token = _context.scope.set(inner)
            try:
                result = await plain(*args, **options)
            finally:
                _context.scope.reset(token)
            _try(_give, outer, inner, result)
            return result

        return awaited

    @functools.wraps(plain)
    def called(*args, **options):
        inner, outer = scope(args, options), _context.scope.get()
        token = _context.scope.set(inner)
        try:
            result = plain(*args, **options)
        finally:
            _context.scope.reset(token)
        _try(_give, outer, inner, result)
        return _stream(result, inner) if inspect.isasyncgen(result) else _iterate(result, inner)

    return called


def _give(outer, inner, result):
    """Tells the text that an outermost call gave back, where it is one."""
    if outer is not None or inner is None or not _context.is_root(inner.run_id):
        return
    for name in ("final_output", "raw", "output", "content", "text"):
        if isinstance(result, (str, int, float)):
            break
        result = getattr(result, name, result)
    if isinstance(result, (str, int, float)) and str(result).strip():
        on_answer(inner.run_id, str(result))


def _iterate(result, scope):
    if not inspect.isgenerator(result):
        return result

    def items():
        while True:
            token = _context.scope.set(scope)
            try:
                item = next(result)
            except StopIteration as end:
                return end.value
            finally:
                _context.scope.reset(token)
            yield item

    return items()


async def _stream(result, scope):
    try:
        while True:
            token = _context.scope.set(scope)
            try:
                item = await result.__anext__()
            except StopAsyncIteration:
                return
            finally:
                _context.scope.reset(token)
            yield item
    finally:
        await result.aclose()


def _run(args, options):
    return _context.outermost()


def _session(args, options):
    """The object is the run, however often the program calls it."""
    current = _context.scope.get()
    if current is None:
        current = getattr(args[0], "_coa_scope", None) or _context.outermost()
        args[0]._coa_scope = current
    return current


def _agent(attribute):
    """The agent is the object itself; without a run around it, it is one."""

    def scope_of(args, options):
        name = getattr(args[0], attribute, None) or type(args[0]).__name__
        return _context.inside(str(name))

    return scope_of


def _delegate(attribute):
    """Another agent's code calls this one: no tool call of a model's stands between them."""

    def scope_of(args, options):
        name = str(getattr(args[0], attribute, None) or type(args[0]).__name__)
        current = _context.scope.get()
        if current is None or current.agent is None:
            return _context.inside(name)
        return _context.Scope(current.run_id, current.agent, {"name": name})

    return scope_of


def _tool(call_id_of, name_of):
    def scope_of(args, options):
        return _context.in_tool(call_id_of(args, options), str(name_of(args, options)))

    return scope_of


def _first(options, args, name, at):
    return options[name] if name in options else args[at]


_frameworks = [
    ("langgraph.pregel.main", "Pregel.stream", _run),
    ("langgraph.pregel.main", "Pregel.astream", _run),
    ("agents.run", "AgentRunner.run", _run),
    ("agents.run", "AgentRunner.run_sync", _run),
    ("agents.run", "AgentRunner.run_streamed", _run),
    (
        "agents.run_internal.run_loop",
        "get_new_response",
        lambda args, options: _context.inside(str(_first(options, args, "bindings", 0).public_agent.name)),
    ),
    ("pydantic_ai.agent.abstract", "AbstractAgent.run", _agent("name")),
    ("google.adk.runners", "Runner.run_async", _run),
    ("google.adk.agents.base_agent", "BaseAgent.run_async", _agent("name")),
    (
        "google.adk.tools.agent_tool",
        "AgentTool.run_async",
        _tool(lambda args, options: options["tool_context"].function_call_id, lambda args, options: args[0].name),
    ),
    ("llama_index.core.agent.workflow.multi_agent_workflow", "AgentWorkflow.run", _run),
    (
        "llama_index.core.agent.workflow.multi_agent_workflow",
        "AgentWorkflow.run_agent_step",
        lambda args, options: _context.inside(str(_first(options, args, "ev", 2).current_agent_name)),
    ),
    ("agno.team.team", "Team.run", _agent("name")),
    ("agno.team.team", "Team.arun", _agent("name")),
    ("agno.agent.agent", "Agent.run", _agent("name")),
    ("agno.agent.agent", "Agent.arun", _agent("name")),
    (
        "agno.tools.function",
        "FunctionCall.execute",
        _tool(lambda args, options: args[0].call_id, lambda args, options: args[0].function.name),
    ),
    (
        "agno.tools.function",
        "FunctionCall.aexecute",
        _tool(lambda args, options: args[0].call_id, lambda args, options: args[0].function.name),
    ),
    ("strands.multiagent.graph", "Graph.stream_async", _run),
    ("strands.multiagent.swarm", "Swarm.stream_async", _run),
    ("strands.agent.agent", "Agent.stream_async", _agent("name")),
    ("smolagents.agents", "MultiStepAgent.__call__", _delegate("name")),
    ("smolagents.agents", "MultiStepAgent.run", _agent("name")),
    ("crewai.crew", "Crew.kickoff", _run),
    ("crewai.agent.core", "Agent.execute_task", _agent("role")),
    ("autogen_agentchat.teams._group_chat._base_group_chat", "BaseGroupChat.run_stream", _run),
    ("autogen_agentchat.agents._assistant_agent", "AssistantAgent.on_messages_stream", _agent("name")),
    (
        "autogen_agentchat.teams._group_chat._selector_group_chat",
        "SelectorGroupChatManager._select_speaker",
        lambda args, options: _context.inside("selector"),
    ),
    ("agent_framework._workflows._workflow", "Workflow.run", _run),
    ("agent_framework._agents", "Agent.run", _agent("name")),
    ("dspy.primitives.module", "Module.__call__", _run),
    ("camel.societies.role_playing", "RolePlaying.step", _session),
    ("camel.societies.role_playing", "RolePlaying.astep", _session),
    ("camel.agents.chat_agent", "ChatAgent.step", _agent("role_name")),
    ("camel.agents.chat_agent", "ChatAgent.astep", _agent("role_name")),
    ("haystack.core.pipeline.pipeline", "Pipeline.run", _run),
    ("haystack.components.agents.agent", "Agent.run", _run),
]


def _follow_langchain(module):
    """LangChain tells its callbacks which node of which graph asks a model."""
    import contextvars

    from langchain_core.callbacks import BaseCallbackHandler

    class Follow(BaseCallbackHandler):
        run_inline = True

        def on_chat_model_start(self, serialized, messages, **options):
            metadata = options.get("metadata") or {}
            name = metadata.get("lc_agent_name")
            parts = [part.split(":")[0] for part in str(metadata.get("langgraph_checkpoint_ns") or "").split("|")]
            if not name and parts and parts[0]:
                name = parts[-2] if parts[-1] in ("model", "agent") and len(parts) > 1 else parts[-1]
            if name:
                _context.scope.set(_context.inside(str(name)))

    handler = contextvars.ContextVar("coa_langchain", default=Follow())
    module.register_configure_hook(handler, True)
