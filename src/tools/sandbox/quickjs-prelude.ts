/** JavaScript that runs inside QuickJS before a program: the few parts of Node that programs which read and print use. */
export const quickjsPrelude = `
(() => {
  const { write, stdin } = globalThis.__host;
  delete globalThis.__host;
  const quote = (text) => (text.includes("'") ? JSON.stringify(text) : "'" + JSON.stringify(text).slice(1, -1).replaceAll('\\\\"', '"') + "'");
  const show = (value, depth, seen) => {
    if (typeof value === "string") return quote(value);
    if (typeof value === "bigint") return value + "n";
    if (typeof value === "function") return value.name ? "[Function: " + value.name + "]" : "[Function (anonymous)]";
    if (typeof value === "symbol") return value.toString();
    if (Object.is(value, -0)) return "-0";
    if (value === null || typeof value !== "object") return String(value);
    if (seen.includes(value)) return "[Circular *1]";
    if (value instanceof Error) return value.stack ? value + "\\n" + value.stack.trimEnd() : String(value);
    if (value instanceof Date) return value.toISOString();
    if (value instanceof RegExp) return String(value);
    const inner = [...seen, value];
    const each = (item) => show(item, depth + 1, inner);
    const wrap = (open, parts, close) => {
      if (parts.length === 0) return open + close;
      const line = open + " " + parts.join(", ") + " " + close;
      if (line.length <= 76 && !line.includes("\\n")) return line;
      const pad = "  ".repeat(depth + 1);
      return open + "\\n" + pad + parts.join(",\\n" + pad) + "\\n" + "  ".repeat(depth) + close;
    };
    if (depth > 2) return Array.isArray(value) ? "[Array]" : "[Object]";
    if (Array.isArray(value)) return wrap("[", value.slice(0, 100).map(each).concat(value.length > 100 ? ["... " + (value.length - 100) + " more items"] : []), "]");
    if (ArrayBuffer.isView(value) && "length" in value) return wrap(value.constructor.name + "(" + value.length + ") [", Array.from(value).slice(0, 100).map(each), "]");
    if (value instanceof Map) return wrap("Map(" + value.size + ") {", [...value].map(([key, item]) => each(key) + " => " + each(item)), "}");
    if (value instanceof Set) return wrap("Set(" + value.size + ") {", [...value].map(each), "}");
    const name = value.constructor && value.constructor !== Object ? value.constructor.name + " " : "";
    return wrap(name + "{", Object.keys(value).map((key) => (/^[A-Za-z_$][\\w$]*$/.test(key) ? key : quote(key)) + ": " + each(value[key])), "}");
  };
  const format = (...parts) => parts.map((part) => (typeof part === "string" ? part : show(part, 0, []))).join(" ") + "\\n";
  const out = (...parts) => write(1, format(...parts));
  const err = (...parts) => write(2, format(...parts));
  globalThis.console = { log: out, info: out, debug: out, error: err, warn: err, table: out, dir: out, assert: (fact, ...parts) => { if (!fact) err("Assertion failed", ...parts); } };
  globalThis.print = out;
  class Exit { constructor(code) { this.exitCode = code; } }
  const timers = [];
  let now = 0, count = 0;
  const schedule = (work, delay, every, parts) => {
    const timer = { id: ++count, at: now + Math.max(1, Number(delay) || 0), work, every, parts };
    timers.push(timer);
    return timer.id;
  };
  globalThis.setTimeout = (work, delay, ...parts) => schedule(work, delay, undefined, parts);
  globalThis.setInterval = (work, delay, ...parts) => schedule(work, delay, Math.max(1, Number(delay) || 0), parts);
  globalThis.setImmediate = (work, ...parts) => schedule(work, 0, undefined, parts);
  globalThis.clearTimeout = globalThis.clearInterval = globalThis.clearImmediate = (id) => {
    const at = timers.findIndex((timer) => timer.id === id);
    if (at >= 0) timers.splice(at, 1);
  };
  globalThis.queueMicrotask = (work) => void Promise.resolve().then(work);
  globalThis.__next = () => {
    if (timers.length === 0) return false;
    timers.sort((a, b) => a.at - b.at || a.id - b.id);
    const timer = timers.shift();
    now = timer.at;
    if (timer.every !== undefined) timers.push({ ...timer, at: now + timer.every });
    timer.work(...timer.parts);
    return true;
  };
  const events = {};
  const input = { on(name, work) { (events[name] ??= []).push(work); if (name === "end") setTimeout(() => { for (const give of events.data ?? []) give(stdin()); for (const end of events.end) end(); }, 0); return input; }, setEncoding: () => input, resume: () => input };
  globalThis.process = { argv: ["node", "main.js"], env: {}, platform: "sandbox", stdin: input, stdout: { write: (text) => (write(1, String(text)), true) }, stderr: { write: (text) => (write(2, String(text)), true) }, exit: (code = 0) => { throw new Exit(Number(code) & 255); }, nextTick: (work, ...parts) => queueMicrotask(() => work(...parts)), hrtime: { bigint: () => BigInt(Date.now()) * 1000000n }, on: () => process };
  const files = { readFileSync: (path, encoding) => { if (path !== 0 && path !== "/dev/stdin") throw new Error("ENOENT: a sandbox has no files, only standard input (0): " + path); const text = stdin(); return encoding ? text : { toString: () => text }; }, writeSync: (file, text) => write(file, String(text)), writeFileSync: (file, text) => { if (file !== 1 && file !== "/dev/stdout") throw new Error("EROFS: a sandbox has no files"); write(1, String(text)); } };
  const readline = { createInterface: () => { const face = { on(name, work) { if (name === "line") setTimeout(() => { const text = stdin(); for (const line of text === "" ? [] : text.replace(/\\n$/, "").split("\\n")) work(line); }, 0); if (name === "close") setTimeout(work, 1); return face; }, close() {} }; return face; } };
  globalThis.require = (name) => {
    const found = { fs: files, readline }[String(name).replace(/^node:/, "")];
    if (!found) throw new Error("Cannot find module '" + name + "': a sandbox has fs.readFileSync(0) and readline only");
    return found;
  };
})();
`;
