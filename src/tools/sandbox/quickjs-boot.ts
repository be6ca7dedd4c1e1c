/**
 * What runs inside a JavaScript child: QuickJS as WebAssembly, one fresh runtime per program, in a Node process that
 * has itself given up files, network and processes. Two layers of protection, because interpreters alone have been
 * broken before.
 */
import { TextEncoder } from "node:util";
import type { QuickJSContext, QuickJSHandle, QuickJSWASMModule } from "quickjs-emscripten-core";
import { lines, removeAccess, send } from "./child-loop.ts";
import type { ChildReply, ChildRequest } from "./line-sandbox.ts";
import { type OutputWindow, outputWindow } from "./output-window.ts";
import { quickjsPrelude } from "./quickjs-prelude.ts";

const node = process;
const [core = "", variant = "", memoryMb = "512", dropTo = ""] = node.argv.slice(2);
const { exit } = node;
const cpuUsage = node.cpuUsage.bind(node);
const utf8 = new TextEncoder();

function run(quickjs: QuickJSWASMModule, request: ChildRequest): ChildReply {
  const windows = [outputWindow(request.outputCharacters), outputWindow(request.outputCharacters)] as const;
  const spent = (): number => {
    const { user, system } = cpuUsage();
    return (user + system) / 1000;
  };
  const deadline = spent() + request.cpuMs;
  let interrupted = false;
  const runtime = quickjs.newRuntime();
  runtime.setMemoryLimit(Number(memoryMb) * 1024 * 1024 * 0.75);
  runtime.setMaxStackSize(256 * 1024);
  runtime.setInterruptHandler(() => (interrupted ||= spent() > deadline));
  const context = runtime.newContext();
  let [status, reason] = [0, ""];
  try {
    [status, reason] = evaluate(context, request, windows);
  } finally {
    const finish = (): void => {
      context.dispose();
      runtime.dispose();
    };
    // A program stopped half way leaves objects that QuickJS can't free; the child ends then.
    if (!interrupted && reason !== "MemoryError") finish();
  }
  const [stdout, stderr] = [windows[0].text(), windows[1].text()];
  const dirty = interrupted || reason === "MemoryError" ? "stopped half way" : undefined;
  return { status, reason, interrupted, stdout, stderr, dirty };
}

function evaluate(
  context: QuickJSContext,
  request: ChildRequest,
  windows: readonly [OutputWindow, OutputWindow],
): [status: number, reason: string] {
  const host = context.newObject();
  const write = context.newFunction("write", (file, text) => {
    windows[context.getNumber(file) === 2 ? 1 : 0].write(utf8.encode(context.getString(text)));
  });
  const stdin = context.newFunction("stdin", () => context.newString(request.stdin));
  context.setProp(host, "write", write);
  context.setProp(host, "stdin", stdin);
  context.setProp(context.global, "__host", host);
  for (const handle of [host, write, stdin]) handle.dispose();
  const fail = (error: QuickJSHandle): [number, string] => {
    const value = context.dump(error) as
      | { exitCode?: number; name?: string; message?: string; stack?: string }
      | string;
    error.dispose();
    if (typeof value === "object" && value !== null && typeof value.exitCode === "number") return [value.exitCode, ""];
    const text =
      typeof value === "object" && value !== null
        ? `Uncaught ${value.name ?? "Error"}: ${value.message ?? ""}\n${value.stack ?? ""}`
        : `Uncaught ${value}\n`;
    windows[1].write(utf8.encode(text));
    const memory = typeof value === "object" && value?.message === "out of memory";
    return [1, memory ? "MemoryError" : "Error"];
  };
  const prelude = context.evalCode(quickjsPrelude, "prelude.js");
  if (prelude.error) return fail(prelude.error);
  prelude.value.dispose();
  let finished: QuickJSHandle | undefined;
  const next = context.getProp(context.global, "__next");
  context.setProp(context.global, "__next", context.undefined);
  try {
    const program = context.evalCode(request.code, "main.js", { type: "global" });
    if (program.error) return fail(program.error);
    const completion = program.value;
    finished = completion;
    for (;;) {
      const jobs = context.runtime.executePendingJobs();
      if (jobs.error) return fail(jobs.error);
      jobs.dispose();
      const timer = context.callFunction(next, context.undefined);
      if (timer.error) return fail(timer.error);
      const more = context.dump(timer.value) as boolean;
      timer.value.dispose();
      if (more || context.runtime.hasPendingJob()) continue;
      // `main()` as the last statement: a promise nobody waits for, whose rejection would otherwise go unseen.
      const promised =
        completion.alive && context.typeof(completion) === "object" && context.getPromiseState(completion);
      if (promised && promised.type === "rejected") return fail(promised.error);
      return [0, ""];
    }
  } finally {
    for (const handle of [next, finished]) if (handle?.alive) handle.dispose();
  }
}

const { newQuickJSWASMModuleFromVariant } = (await import(core)) as typeof import("quickjs-emscripten-core");
const quickjs = await newQuickJSWASMModuleFromVariant(import(variant));
removeAccess(node, dropTo);
send({});
for (const line of lines()) {
  let reply: ChildReply;
  const request = JSON.parse(line) as ChildRequest & { nonce: string };
  try {
    reply = run(quickjs, request); // a runtime of its own: every program is plain enough for a shared child
  } catch (error) {
    // Deep recursion can end in the host's own stack; the interpreter can't be trusted after that.
    const stack = /stack/i.test(String(error));
    const message = String((error as Error)?.message ?? error).slice(0, 300);
    reply = stack ? { status: 1, reason: "RangeError", stderr: `Uncaught ${message}\n` } : { error: message };
    reply.dirty = message;
  }
  send(reply, request.nonce);
  if (reply.dirty) break;
}
exit(0);
