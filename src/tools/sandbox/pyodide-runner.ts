/**
 * The Python side of a Pyodide child, kept in the memory snapshot. `_coa_run` gives each program a fresh `__main__`,
 * real file descriptors 0 to 2 (so that `open(0)` and `os.write(1, …)` work) and the exit code CPython would give. In a
 * shared child it runs plain programs alone and answers `refused` to all others before anything of them has run.
 */

/** Modules most programs import; they are part of the snapshot, so importing them costs nothing. */
const preloaded =
  "abc argparse array ast asyncio base64 bisect calendar cmath collections collections.abc contextlib copy csv " +
  "dataclasses datetime decimal enum fractions functools gc hashlib heapq inspect io itertools json linecache math " +
  "numbers operator os pickle pprint queue random re statistics string struct sys textwrap threading time timeit " +
  "traceback types typing unicodedata uuid warnings";

export const pyodideRunner = `
def _coa_setup():
    import ${preloaded.replaceAll(" ", ", ")}
    import atexit, builtins, asyncio.base_events

    class SyncSelector:
        def select(self, timeout=None):
            if timeout is None:
                raise RuntimeError("asyncio waits for something that cannot happen: a sandbox has no network and no threads")
            if timeout > 0:
                time.sleep(timeout)
            return []
        def close(self): pass

    class SyncLoop(asyncio.base_events.BaseEventLoop):
        def __init__(self):
            super().__init__()
            self._selector = SyncSelector()
        def _process_events(self, event_list): pass
        def _write_to_self(self): pass

    class SyncPolicy(asyncio.events._BaseDefaultEventLoopPolicy):
        _loop_factory = SyncLoop

    def plain_run(main, *, debug=None, loop_factory=None):
        if asyncio._get_running_loop() is not None:
            raise RuntimeError("asyncio.run() cannot be called from a running event loop")
        with asyncio.Runner(debug=debug, loop_factory=loop_factory or SyncLoop) as runner:
            return runner.run(main)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asyncio.set_event_loop_policy(SyncPolicy())
    asyncio.run = asyncio.runners.run = plain_run

    exec_, compile_, len_ = exec, compile, len
    Module, Text, Reader, Writer, Raw = types.ModuleType, io.TextIOWrapper, io.BufferedReader, io.BufferedWriter, io.FileIO
    import ast
    print_exception = traceback.print_exception
    filename = "main.py"
    longest_plain = 2000
    empty = Module("__main__")

    def streams():
        sys.stdin = Text(Reader(Raw(0, "r", closefd=False), 65536), encoding="utf-8", errors="surrogateescape")
        sys.stdout = Text(Writer(Raw(1, "w", closefd=False), 65536), encoding="utf-8", errors="surrogateescape")
        sys.stderr = Text(Writer(Raw(2, "w", closefd=False), 8192), encoding="utf-8", errors="backslashreplace", line_buffering=True)
        return sys.stdout, sys.stderr

    def flush(*files):
        for file in files:
            try: file.flush()
            except BaseException: pass

    # A program made of these alone has no way to anything that outlives it, so it may share an interpreter with others:
    # numbers, strings, arithmetic, plain names, loops, and calls by name of functions that keep nothing. No attribute, no
    # import, no definition, no other call, and no name of a builtin as its own: "if 0: exec = 0" would leave exec callable.
    nodes = tuple(getattr(ast, name) for name in (
        "Module Expr Assign AugAssign For While If IfExp Break Continue Pass BinOp UnaryOp BoolOp Compare Call keyword Name "
        "Constant List Tuple Dict Set ListComp GeneratorExp comprehension Subscript Slice Starred JoinedStr FormattedValue "
        "Load Store operator unaryop boolop cmpop").split())
    functions = frozenset(
        "abs bool divmod enumerate float input int len list max min pow print range reversed round set sorted str sum tuple zip".split())
    builtin_names = frozenset(dir(builtins))

    def plain(tree):
        names, own = set(), set()
        for node in ast.walk(tree):
            if not isinstance(node, nodes): return False
            kind = type(node)
            if kind is ast.Name: (names if type(node.ctx) is ast.Load else own).add(node.id)
            elif kind is ast.Call and (type(node.func) is not ast.Name or node.func.id not in functions): return False
            elif kind is ast.keyword and node.arg not in ("sep", "end"): return False
        return not any(name.startswith("_") or name in builtin_names for name in own) and names <= own | functions

    def run(code, seed, plain_only):
        out, err = streams()
        main = Module("__main__")
        main.__builtins__ = builtins
        main.__file__ = filename
        sys.modules["__main__"] = main
        sys.argv = [filename]
        linecache.cache[filename] = (len_(code), None, code.splitlines(True), filename)
        random.seed(seed)
        asyncio._set_running_loop(None)
        status, reason = 0, ""
        try:
            try:
                if plain_only:
                    if len_(code) > longest_plain: return "refused"
                    code = compile_(code, filename, "exec", 1024, True)  # 1024: the syntax tree alone
                    if not plain(code): return "refused"
                exec_(compile_(code, filename, "exec", 0, True), main.__dict__)
            finally:
                if atexit._ncallbacks(): atexit._run_exitfuncs()
        except SystemExit as stop:
            code = stop.code
            if code is None: status = 0
            elif isinstance(code, int): status = code & 255
            else:
                status = 1
                err.write(str(code) + "\\n")
        except BaseException as problem:
            status, reason = 1, type(problem).__name__
            trace = problem.__traceback__
            while trace is not None and trace.tb_frame.f_code.co_filename != filename and trace.tb_next is not None:
                trace = trace.tb_next
            if trace is not None and trace.tb_frame.f_code.co_filename != filename:
                trace = None
            flush(sys.stdout, out)
            try: print_exception(type(problem), problem, trace, file=err)
            except BaseException: err.write(type(problem).__name__ + "\\n")
            problem = trace = None
        finally:
            main.__dict__.clear()
        flush(sys.stdout, sys.stderr, out, err)
        sys.modules["__main__"] = empty
        return f"{status} {reason}"

    streams()
    plain(ast.parse("[y for y in range(3)]"))
    return run

_coa_run = _coa_setup()
del _coa_setup
`;
