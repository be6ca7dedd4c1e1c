/**
 * The part of a sandbox child that is the same for every language: lines in on descriptor 3, lines out on descriptor 4,
 * both blocking, and the removal of everything that was needed only while loading.
 */
import { Buffer } from "node:buffer";
import { readSync, writeSync } from "node:fs";

const pause = new Int32Array(new SharedArrayBuffer(4));

const { stringify } = JSON;
const { entries } = Object;

/** Writes one JSON line of plain values to the parent. Field by field: a `toJSON` on a prototype is never asked. */
export function send(reply: object, nonce = ""): void {
  let line = `{"nonce":${stringify(nonce)}`;
  for (const [name, value] of entries(reply)) {
    if (value === undefined || typeof value === "object") continue;
    line += `,${stringify(name)}:${stringify(value)}`;
  }
  writeAll(Buffer.from(`${line}}\n`), 4);
}

export function writeAll(bytes: Uint8Array, descriptor: number): void {
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
export function* lines(): Generator<string> {
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
export function removeAccess(node: NodeJS.Process, dropTo: string): void {
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
