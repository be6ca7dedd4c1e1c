/**
 * How a Pyodide child is started: Node's permission model with nothing but Pyodide's own folder readable, no code from
 * strings, capped memory, an empty environment. It starts from a memory snapshot, made once per Pyodide version and kept
 * in the user's cache folder; where no folder can be written, children start plainly (some seconds instead of 0.4).
 */
import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { missingPeer } from "../../base/work/optional-peer.ts";
import { CoaError } from "../../core/errors.ts";
import { fingerprint } from "../../core/fingerprint.ts";
import type { SandboxLevel } from "../../core/sandbox.ts";
import { type Launch, nobodyId, weakened } from "./launch.ts";
import { type LineChild, startLineChild } from "./line-child.ts";
import {
  type ChildReply,
  type ChildRequest,
  type LineSandboxOptions,
  lineSandbox,
  type WarmSandbox,
} from "./line-sandbox.ts";
import { pyodideRunner } from "./pyodide-runner.ts";

export type PyodideChild = LineChild<ChildRequest, ChildReply>;

/** Where Pyodide is installed, or undefined. */
export function pyodideFolder(): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve("pyodide/package.json"));
  } catch {
    return undefined;
  }
}

const here = dirname(fileURLToPath(import.meta.url));
const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";

/** What Node, V8 and the compiled WebAssembly themselves reserve, besides the memory a program gets. */
const ownMemoryMb = 1_024;

/**
 * The command line of a child that may do nothing but compute: Node's permission model with a few readable folders, no code from
 * strings, capped WebAssembly memory and heap, and the system's own weakening around it. `mode` is `make` (writes a snapshot),
 * `load` (starts from one) or `plain`.
 */
export function pyodideLaunch(mode: "make" | "load" | "plain", memoryMb: number): Launch {
  const folder = pyodideFolder();
  if (!folder) throw missingPeer("pyodide");
  const files = ["pyodide-boot", "pyodide-runner", "pyodide-disk", "limits"];
  const [boot = "", ...parts] = files.map((name) => join(here, `${name}.${extension}`));
  const flags = [
    "--permission",
    ...[folder, boot, ...parts, packageFile(here)].map((path) => `--allow-fs-read=${path}`),
    "--disallow-code-generation-from-strings",
    `--wasm-max-mem-pages=${Math.round(memoryMb * 16)}`,
    "--max-old-space-size=192",
    "--max-semi-space-size=4",
    "--no-warnings",
    "--disable-proto=delete",
  ];
  const wrap = (dropTo: string): Launch =>
    weakened(process.execPath, [...flags, boot, folder, mode, dropTo], {
      dataMb: memoryMb + ownMemoryMb,
      needs: [...parts, folder],
    });
  const launch = wrap("");
  return launch.dropInside ? wrap(`${nobodyId}`) : launch;
}

/** Starts one child that holds Python and waits for programs. */
export async function startPyodide({ memoryMb }: { memoryMb: number }): Promise<PyodideChild> {
  const inheritedFile = await pyodideSnapshot();
  const { command, args } = pyodideLaunch(inheritedFile ? "load" : "plain", memoryMb);
  return startLineChild({ command, args, inheritedFile });
}

const building = new Map<string, Promise<string | undefined>>();

/** The path of the snapshot, made now if it is not there; undefined where no cache folder can be written. */
export function pyodideSnapshot(cacheFolder?: string): Promise<string | undefined> {
  const key = cacheFolder ?? "";
  let snapshot = building.get(key);
  if (!snapshot) {
    snapshot = findOrBuild(cacheFolder);
    building.set(key, snapshot);
    snapshot.catch(() => building.delete(key));
  }
  return snapshot;
}

async function findOrBuild(cacheFolder?: string): Promise<string | undefined> {
  const { version } = JSON.parse(readFileSync(join(pyodideFolder() ?? "", "package.json"), "utf8")) as {
    version: string;
  };
  const digest = fingerprint(pyodideRunner);
  const name = `pyodide-${version}-${digest}.snapshot`;
  const folders = cacheFolders(cacheFolder);
  for (const folder of folders) {
    if (isOurs(folder) && isWhole(join(folder, name))) return join(folder, name);
  }
  const folder = folders.find(canWrite);
  if (!folder) return undefined;
  const bytes = await makeSnapshot();
  const temporary = join(folder, `${name}.${randomUUID()}.tmp`);
  try {
    writeFileSync(temporary, Buffer.concat([bytes, digestOf(bytes)]), { mode: 0o600, flush: true });
    renameSync(temporary, join(folder, name));
  } catch {
    rmSync(temporary, { force: true });
    return undefined; // code can run on a full disk too
  }
  return join(folder, name);
}

function cacheFolders(chosen?: string): string[] {
  if (chosen) return [chosen];
  const { COA_CACHE, XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  const home = homedir();
  const users =
    process.platform === "win32"
      ? join(LOCALAPPDATA ?? join(home, "AppData", "Local"), "chain-of-agents")
      : process.platform === "darwin"
        ? join(home, "Library", "Caches", "chain-of-agents")
        : join(XDG_CACHE_HOME || join(home, ".cache"), "chain-of-agents");
  return [...(COA_CACHE ? [COA_CACHE] : []), users, join(tmpdir(), `chain-of-agents-${process.getuid?.() ?? "user"}`)];
}

// Node's own recursive mkdir never returns below a folder such as /proc, where making anything is "no such file".
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  if (folder !== dirname(folder)) makeFolder(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}

function canWrite(folder: string): boolean {
  try {
    makeFolder(folder);
    const probe = join(folder, `.${randomUUID()}`);
    writeFileSync(probe, "");
    rmSync(probe);
    return isOurs(folder);
  } catch {
    return false;
  }
}

// A snapshot is trusted as much as our own code: a folder that other users can write to may hold theirs.
function isOurs(folder: string): boolean {
  try {
    const { uid, mode } = statSync(folder);
    return process.getuid === undefined || ((uid === process.getuid() || uid === 0) && (mode & 0o022) === 0);
  } catch {
    return false;
  }
}

const digestOf = (bytes: Uint8Array): Buffer => createHash("sha256").update(bytes).digest();

// The last 32 bytes are the digest of the rest, so a damaged file is made again instead of failing every start.
function isWhole(path: string): boolean {
  try {
    const bytes = readFileSync(path);
    return bytes.length > 1_000_000 && digestOf(bytes.subarray(0, -32)).equals(bytes.subarray(-32));
  } catch {
    return false;
  }
}

function makeSnapshot(): Promise<Buffer> {
  const { command, args } = pyodideLaunch("make", 512);
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env: {}, cwd: "/", stdio: ["ignore", "pipe", "pipe"] });
    const chunks: Buffer[] = [];
    let errors = "";
    const timer = setTimeout(() => child.kill("SIGKILL"), 120_000);
    child.stdout.on("data", (chunk: Buffer) => void chunks.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => {
      errors = (errors + chunk.toString()).slice(-2_000);
    });
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(timer);
      const bytes = Buffer.concat(chunks);
      if (code === 0 && bytes.length > 1_000_000) resolve(bytes);
      else reject(new CoaError("sandbox", `could not make the Python snapshot (exit ${code}): ${errors.trim()}`));
    });
  });
}

function packageFile(folder: string): string {
  const file = join(folder, "package.json");
  return existsSync(file) || folder === dirname(folder) ? file : packageFile(dirname(folder));
}

/** What is true of every child on this machine, in plain words. */
function caveatsOf(launch: Launch): string[] {
  const version = process.versions.node;
  const caveats = [...launch.caveats];
  if (Number(version.split(".")[0]) < 26) {
    caveats.push(
      `Node ${version} cannot forbid a process the network; that none is reached rests on removed globals, which is not enough for hostile code (Node 26 forbids it)`,
    );
  }
  if (launch.dropInside)
    caveats.push("Node is not readable for other users: the child starts as root and drops it before it runs code");
  caveats.push(
    "a WebAssembly runtime and Node's permission model stand between the code and the machine, no kernel namespace",
  );
  return caveats;
}

/** Python's standard library and nothing else; about 1 ms per small run once warm. */
export function pyodideSandbox(options: LineSandboxOptions = {}): WarmSandbox {
  return lineSandbox({ ...options, level: pyodideLevel(), start: (memoryMb) => startPyodide({ memoryMb }) });
}

/** How strong the Pyodide sandbox is on this machine. */
export function pyodideLevel(): SandboxLevel {
  return {
    kind: "pyodide",
    strength: "moderate",
    caveats: caveatsOf(pyodideLaunch("plain", 512)),
    cannot: ["deep recursion", "large memory", "threads"],
    slowdown: 4,
  };
}
