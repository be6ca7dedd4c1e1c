/**
 * The command line of a Node child that may do nothing but compute: Node's permission model with a few readable folders,
 * no code from strings, capped WebAssembly memory and heap, and the system's own weakening around it.
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Launch, nobody, weakened } from "./launch.ts";

const here = dirname(fileURLToPath(import.meta.url));
const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";

/** What Node, V8 and the compiled WebAssembly themselves reserve, besides the memory a program gets. */
const ownMemoryMb = 1_024;

/** Puts the command line together. The child's last argument is the user it must become, or nothing. */
export function nodeLaunch(options: {
  /** The file that starts, and the files beside it that it imports; names without extension. */
  boot: string;
  parts: string[];
  /** Folders of packages that it reads while it loads. */
  folders: string[];
  args: string[];
  memoryMb: number;
}): Launch {
  const [boot = "", ...parts] = [options.boot, ...options.parts].map((name) => join(here, `${name}.${extension}`));
  const readable = [...options.folders, boot, ...parts, packageFile(here)];
  const flags = [
    "--permission",
    ...readable.map((path) => `--allow-fs-read=${path}`),
    "--disallow-code-generation-from-strings",
    `--wasm-max-mem-pages=${Math.round(options.memoryMb * 16)}`,
    "--max-old-space-size=192",
    "--max-semi-space-size=4",
    "--no-warnings",
    "--disable-proto=delete",
  ];
  const wrap = (dropTo: string): Launch =>
    weakened(process.execPath, [...flags, boot, ...options.args, dropTo], {
      dataMb: options.memoryMb + ownMemoryMb,
      needs: [...parts, ...options.folders],
    });
  const launch = wrap("");
  return launch.dropInside ? wrap(`${nobody}`) : launch;
}

function packageFile(folder: string): string {
  const file = join(folder, "package.json");
  return existsSync(file) || folder === dirname(folder) ? file : packageFile(dirname(folder));
}

/** What is true of every Node child on this machine, in plain words. */
export function nodeCaveats(launch: Launch): string[] {
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
