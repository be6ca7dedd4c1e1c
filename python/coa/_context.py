"""What the running code belongs to (run, agent, the tool call that started it) and which replies it has seen.

Scopes go down into tasks, threads and processes. Replies go up as well: code that waits for a task, a thread or a
future has seen what that one saw, however many libraries lie between.
"""
import asyncio
import concurrent.futures
import contextvars
import functools
import itertools
import os
import subprocess
import threading
import uuid


class Scope:
    """A run; inside it an agent; inside that the tool call whose code is running."""

    __slots__ = ("run_id", "agent", "tool")

    def __init__(self, run_id, agent, tool):
        self.run_id = run_id
        self.agent = agent
        self.tool = tool


#: The scope of the running code.
scope = contextvars.ContextVar("coa_scope", default=None)
#: Ids of the calls whose replies the running code has seen last: several after a join.
seen = contextvars.ContextVar("coa_seen", default=())

_number = itertools.count(1)
_ancestors = {}  # [call id] ids of all calls before it


def new_run():
    """An id for a run that the program did not name."""
    return "py-%s-%d" % (uuid.uuid4().hex[:12], next(_number))


def is_root(run_id):
    """Whether a run is a framework's outermost call, and was not named by the program."""
    return run_id.startswith("py-")


def inside(name, agent_id=None):
    """The scope of an agent that the current scope starts."""
    current = scope.get()
    run_id = current.run_id if current else new_run()
    agent = {"id": agent_id or "%s-%d" % (name, next(_number)), "name": name}
    if current and current.agent and current.agent.get("name") == name and current.tool is None:
        return current
    if current and current.agent and current.tool:
        agent["parent"] = dict(current.tool, agentId=current.agent["id"])
    elif current and current.agent:
        # Started inside the other one, whose turn is not over: called by it, through a tool whose id is not known here.
        agent["parent"] = {"agentId": current.agent["id"]}
    return Scope(run_id, agent, None)


def outermost():
    """The scope of a framework's outermost call: the current run, or a new one."""
    current = scope.get()
    return current or Scope(new_run(), None, None)


def in_tool(call_id, name):
    """The scope of the code of a tool call."""
    current = scope.get()
    if current is None or current.agent is None:
        return current
    tool = {"name": name}
    if call_id:
        tool["callId"] = str(call_id)
    return Scope(current.run_id, current.agent, tool)


def began(call_id):
    """Notes which replies a call comes after."""
    before = seen.get()
    known = set(before)
    for one in before:
        known |= _ancestors.get(one, frozenset())
    _ancestors[call_id] = frozenset(known)
    if len(_ancestors) > 20000:
        for old in list(itertools.islice(_ancestors, 10000)):
            del _ancestors[old]
    return before


def replied(call_id):
    """From here on the running code has seen this reply."""
    seen.set((call_id,))


def adopt(context):
    """Takes over what finished work has seen: its replies, less those that came before others of them."""
    if context is None:
        return
    theirs = context.get(seen, ())
    own = seen.get()
    if not theirs or theirs == own:
        return
    both = list(dict.fromkeys(own + theirs))
    old = set()
    for one in both:
        old |= _ancestors.get(one, frozenset())
    seen.set(tuple(one for one in both if one not in old))


def follow():
    """Makes tasks, threads and futures carry scopes down and replies up."""
    _follow_tasks()
    _follow_futures()
    _follow_threads()
    _follow_processes()


def _follow_tasks():
    plain = asyncio.tasks.Task

    class FollowedTask(plain):
        def __init__(self, coro, *, context=None, **options):
            self._coa = context if context is not None else contextvars.copy_context()
            super().__init__(coro, context=self._coa, **options)

        def __await__(self):
            result = yield from super().__await__()
            adopt(self._coa)
            return result

        __iter__ = __await__

        def result(self):
            if self.done():
                adopt(self._coa)
            return super().result()

    try:

        async def nothing():
            return None

        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(FollowedTask(nothing(), loop=loop))
        finally:
            loop.close()
    except TypeError:  # before Python 3.11 a task takes no context: replies then don't go up
        return
    asyncio.tasks.Task = asyncio.Task = FollowedTask

    gathering = getattr(asyncio.tasks, "_GatheringFuture", None)
    if gathering is None:
        return

    class FollowedGathering(gathering):
        def __await__(self):
            result = yield from super().__await__()
            for child in getattr(self, "_children", ()):
                adopt(getattr(child, "_coa", None))
            return result

        __iter__ = __await__

    asyncio.tasks._GatheringFuture = FollowedGathering


def _follow_futures():
    plain_submit = concurrent.futures.ThreadPoolExecutor.submit
    plain_result = concurrent.futures.Future.result

    def submit(self, fn, /, *args, **options):
        context = contextvars.copy_context()
        future = plain_submit(self, context.run, fn, *args, **options)
        future._coa = context
        return future

    def result(self, timeout=None):
        value = plain_result(self, timeout)
        adopt(getattr(self, "_coa", None))
        return value

    concurrent.futures.ThreadPoolExecutor.submit = submit
    concurrent.futures.Future.result = result

    plain_run = asyncio.BaseEventLoop.run_in_executor

    def run_in_executor(self, executor, func, *args):
        if executor is not None and not isinstance(executor, concurrent.futures.ThreadPoolExecutor):
            return plain_run(self, executor, func, *args)
        context = contextvars.copy_context()
        inner = plain_run(self, executor, lambda: context.run(func, *args))

        async def wait():
            try:
                return await inner
            finally:
                adopt(context)

        return self.create_task(wait())

    asyncio.BaseEventLoop.run_in_executor = run_in_executor

    async def to_thread(func, /, *args, **options):
        # asyncio's own runs the function in a copy of the context that it keeps to itself.
        return await asyncio.get_running_loop().run_in_executor(None, functools.partial(func, *args, **options))

    asyncio.threads.to_thread = asyncio.to_thread = to_thread


def _follow_threads():
    plain_start = threading.Thread.start
    plain_join = threading.Thread.join

    def start(self):
        context = contextvars.copy_context()
        run = self.run
        self._coa = context
        self.run = lambda: context.run(run)
        return plain_start(self)

    def join(self, timeout=None):
        plain_join(self, timeout)
        if not self.is_alive():
            adopt(getattr(self, "_coa", None))

    threading.Thread.start = start
    threading.Thread.join = join


def _follow_processes():
    plain = subprocess.Popen.__init__

    def init(self, *args, **options):
        current = scope.get()
        # By position `env` would be the eleventh argument; it is hardly ever written so.
        if current is not None and len(args) < 11:
            given = options.get("env")
            options["env"] = dict(os.environ if given is None else given, COA_RUN=current.run_id)
        plain(self, *args, **options)

    subprocess.Popen.__init__ = init
