/**
 * What runs inside a Pyodide child before any untrusted line does. Pyodide is loaded as if this were a web worker: with
 * `process` gone it never asks Node for files, sockets or processes, and the only files it can fetch are handed to it
 * here. Afterwards everything that was needed while loading is removed, privileges are dropped, and a blocking loop reads
 * one request per line. Blocking on purpose: no timer or task of an earlier program can run between two requests.
 */
import { Buffer } from "node:buffer";
import fs, { writeSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { type OutputWindow, outputWindow } from "./limits.ts";
import type { ChildReply, ChildRequest } from "./line-sandbox.ts";
import { capDisk, type FileSystem } from "./pyodide-disk.ts";
import { pyodideRunner } from "./pyodide-runner.ts";

/** The part of Pyodide that is used here. */
interface Python {
  FS: FileSystem;
  globals: { get(name: string): (...values: unknown[]) => unknown };
  runPython(code: string): unknown;
  makeMemorySnapshot(): Uint8Array;
  setStdin(handler: { read(buffer: Uint8Array): number }): void;
  setStdout(handler: { write(bytes: Uint8Array): number }): void;
  setStderr(handler: { write(bytes: Uint8Array): number }): void;
  setInterruptBuffer(buffer: unknown): void;
  _api: { config: { _loadSnapshot?: Uint8Array } };
  _module: { HEAP8: Int8Array };
}

const node = process;
const [pyodideFolder = "", mode = "plain", dropTo = ""] = node.argv.slice(2);
const { readSync, readFileSync, fstatSync } = fs;
const { exit } = node;
const cpuUsage = node.cpuUsage.bind(node);

// WebAssembly memory never shrinks, so a shared child that has once grown this far is replaced.
const maxKeptBytes = 192 * 1024 * 1024;

// The file ends with a digest of 32 bytes, which the parent has checked.
function readSnapshot(): Uint8Array {
  const bytes = new Uint8Array(fstatSync(5).size - 32);
  for (let at = 0; at < bytes.length; ) at += readSync(5, bytes, at, bytes.length - at, at);
  fs.closeSync(5);
  return bytes;
}

async function load(): Promise<Python> {
  const base = pathToFileURL(`${pyodideFolder}/`).href;
  const world = globalThis as Record<string, unknown>;
  const scope = (): void => {};
  Object.defineProperty(scope, Symbol.hasInstance, { value: (value: unknown) => value === globalThis });
  world["WorkerGlobalScope"] = scope;
  world["self"] = globalThis;
  world["location"] = new URL(base);
  world["fetch"] = async (address: string | URL) => {
    const name = new URL(address).href.slice(base.length);
    if (!/^[\w.-]+$/.test(name)) throw new Error(`no such file: ${address}`);
    const type = name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
    return new Response(readFileSync(`${pyodideFolder}/${name}`), { headers: { "content-type": type } });
  };
  Reflect.deleteProperty(globalThis, "process");
  const { info } = JSON.parse(readFileSync(`${pyodideFolder}/pyodide-lock.json`, "utf8"));
  const { loadPyodide } = await import(`${base}pyodide.mjs`);
  const options = {
    indexURL: base,
    jsglobals: Object.create(null),
    env: { HOME: "/home/pyodide", TZ: "UTC" },
    lockFileContents: JSON.stringify({ info, packages: {} }),
    ...(mode === "make" ? { _makeSnapshot: true } : {}),
    ...(mode === "load" ? { _loadSnapshot: readSnapshot() } : {}),
  };
  const python = await loadPyodide(options);
  python._api.config._loadSnapshot = undefined;
  if (mode !== "load") python.runPython(pyodideRunner);
  return python;
}

function serve(python: Python): void {
  const { FS } = python;
  const run = python.globals.get("_coa_run");
  python.runPython("del _coa_run");
  capDisk(FS, 64 * 1024 * 1024);
  const utf8 = new TextEncoder();
  let input = new Uint8Array(0);
  let stdout = outputWindow(0);
  let stderr = outputWindow(0);
  let deadline = Number.POSITIVE_INFINITY;
  let interrupted = false;
  let polls = 0;
  python.setStdin({
    read(buffer: Uint8Array) {
      const part = input.subarray(0, buffer.length);
      input = input.subarray(part.length);
      buffer.set(part);
      return part.length;
    },
  });
  const into = (window: () => OutputWindow) => ({
    write(bytes: Uint8Array) {
      window().write(bytes);
      return bytes.length;
    },
  });
  python.setStdout(into(() => stdout));
  python.setStderr(into(() => stderr));
  const spent = (): number => {
    const { user, system } = cpuUsage();
    return (user + system) / 1000;
  };
  // Python polls this "buffer" while it runs bytecode: past the deadline it finds a SIGINT there, and the child
  // continues.
  const parent = node.ppid;
  const signals = new Proxy([0], {
    get: () => {
      if (++polls % 256 !== 0) return 0;
      if (node.ppid !== parent) exit(1);
      if (spent() < deadline) return 0;
      interrupted = true;
      return 2;
    },
    set: () => true,
  });
  python.setInterruptBuffer(signals);
  send({});
  for (const line of lines()) {
    const request = JSON.parse(line) as ChildRequest & { nonce: string };
    input = utf8.encode(request.stdin);
    stdout = outputWindow(request.outputCharacters);
    stderr = outputWindow(request.outputCharacters);
    for (const [fd, name] of ["/dev/stdin", "/dev/stdout", "/dev/stderr"].entries()) {
      if (!FS.streams[fd]) FS.open(name, fd === 0 ? 0 : 1);
    }
    interrupted = false;
    deadline = spent() + request.cpuMs;
    const reply: ChildReply = {};
    try {
      const [status = "1", reason = ""] = (run(request.code, request.seed, request.plainOnly) as string).split(" ");
      if (status === "refused") reply.refused = true;
      reply.status = Number(status);
      reply.reason = reason;
    } catch (error) {
      const message = String((error as Error)?.message ?? error).slice(0, 500);
      const exited = /^Program terminated with exit\((-?\d+)\)/.exec(message);
      if (exited) reply.status = Number(exited[1]) & 255;
      else reply.error = message;
      reply.dirty = "Python has ended";
    }
    deadline = Number.POSITIVE_INFINITY;
    reply.interrupted = interrupted;
    reply.stdout = stdout.text();
    reply.stderr = stderr.text();
    // A plain program leaves nothing behind, but one that was stopped may have left the interpreter half way.
    if (request.plainOnly && (interrupted || reply.reason === "MemoryError")) reply.dirty ??= "stopped half way";
    if (request.plainOnly && python._module.HEAP8.length > maxKeptBytes) reply.dirty ??= "memory has grown";
    send(reply, request.nonce);
    if (reply.dirty) return;
  }
}

const pause = new Int32Array(new SharedArrayBuffer(4));

const { stringify } = JSON;
const { entries } = Object;

/** Writes one JSON line of plain values to the parent. Field by field: a `toJSON` on a prototype is never asked. */
function send(reply: object, nonce = ""): void {
  let line = `{"nonce":${stringify(nonce)}`;
  for (const [name, value] of entries(reply)) {
    if (value === undefined || typeof value === "object") continue;
    line += `,${stringify(name)}:${stringify(value)}`;
  }
  writeAll(Buffer.from(`${line}}\n`), 4);
}

function writeAll(bytes: Uint8Array, descriptor: number): void {
  for (let at = 0; at < bytes.length; ) at += retry(() => writeSync(descriptor, bytes, at));
}

function retry(work: () => number): number {
  for (;;) {
    try {
      return work();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EOF") return 0;
      if (code !== "EAGAIN" && code !== "EINTR") throw error;
      Atomics.wait(pause, 0, 0, 1);
    }
  }
}

/** The lines of the parent, one after the other, until it goes away. */
function* lines(): Generator<string> {
  const chunk = Buffer.alloc(65_536);
  const pending: Buffer[] = [];
  for (;;) {
    const size = retry(() => readSync(3, chunk));
    if (size === 0) return;
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0 && end < size; end = chunk.indexOf(10, start)) {
      pending.push(Buffer.from(chunk.subarray(start, end)));
      yield Buffer.concat(pending.splice(0)).toString();
      start = end + 1;
    }
    if (start < size) pending.push(Buffer.from(chunk.subarray(start, size)));
  }
}

/**
 * Removes what untrusted code must not find at the end of any chain of objects: the network, workers, timers, and of
 * `process` everything that acts on the system. Root becomes the user `dropTo` (a number as text, or nothing).
 */
function removeAccess(node: NodeJS.Process, dropTo: string): void {
  const names =
    "fetch Request Response Headers FormData WebSocket EventSource XMLHttpRequest Worker BroadcastChannel MessageChannel " +
    "MessagePort WorkerGlobalScope self location navigator require module global Buffer WebAssembly SharedArrayBuffer " +
    "setTimeout setInterval setImmediate localStorage sessionStorage Storage";
  for (const name of names.split(" ")) Reflect.deleteProperty(globalThis, name);
  if (dropTo !== "" && node.getuid?.() === 0) {
    const id = Number(dropTo);
    node.setgroups?.([]);
    node.setgid?.(id);
    node.setuid?.(id);
  }
  const tools =
    "binding _linkedBinding dlopen kill _kill abort setuid setgid seteuid setegid setgroups initgroups chdir";
  for (const tool of `${tools} umask execve loadEnvFile getBuiltinModule report mainModule env`.split(" ")) {
    Object.defineProperty(node, tool, { value: undefined, configurable: false, writable: false });
  }
}

const python = await load();
if (mode === "make") {
  writeAll(python.makeMemorySnapshot(), 1);
} else {
  removeAccess(node, dropTo);
  serve(python);
}
exit(0);
