/**
 * The newest releases of other people's programs, in a folder of their own (`COA_PEERS`, or a temporary one): packages of npm beside
 * a copy of the tests of clients, and Python packages in one environment for each group that can be installed together.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const place = process.env["COA_PEERS"] ?? join(tmpdir(), "coa-peers");

/** Where a package is and which version it is; or why it could not be installed. */
export type Installed = { at: string; version: string } | { failed: string };

function run(command: string, args: readonly string[]): string | undefined {
  const { status, stderr, error } = spawnSync(command, args, { encoding: "utf8" });
  return status === 0 ? undefined : (error?.message ?? stderr.trim().split("\n").at(-1) ?? "it failed");
}

/** The newest of a package of npm; `at` is a folder whose `test/clients` finds it. */
export function npmPeer(names: readonly string[]): Installed {
  const clients = join(place, "node/test/clients");
  if (!existsSync(clients)) {
    cpSync(join(root, "test/clients"), clients, { recursive: true, filter: (path) => !path.includes("node_modules") });
    writeFileSync(join(clients, "package.json"), '{"private":true,"type":"module"}');
    for (const name of ["src", "node_modules", "test/fixtures"])
      symlinkSync(join(root, name), join(place, "node", name));
  }
  const latest = names.map((name) => `${name}@latest`);
  const failed = run("npm", ["install", "--no-audit", "--no-fund", "--prefix", clients, ...latest]);
  if (failed !== undefined) return { failed };
  const file = join(clients, "node_modules", names[0]!, "package.json");
  return { at: join(place, "node"), version: (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version };
}

/** The newest of a Python package, in the environment of its group; `at` is its Python. */
export function pythonPeer(group: string, name: string): Installed {
  const given = process.env[`COA_PEERS_PYTHON_${group.toUpperCase()}`];
  const python = given ?? join(place, group, "bin/python");
  mkdirSync(place, { recursive: true });
  if (!existsSync(python)) {
    const failed = run("python3", ["-m", "venv", join(place, group)]);
    if (failed !== undefined) return { failed };
  }
  const installed = given === undefined ? run(python, ["-m", "pip", "install", "-q", "--upgrade", name]) : undefined;
  if (installed !== undefined) return { failed: installed };
  const script = `import importlib.metadata as m; print(m.version("${name}"))`;
  try {
    return { at: python, version: execFileSync(python, ["-c", script], { encoding: "utf8", stdio: "pipe" }).trim() };
  } catch {
    return { failed: `${name} is not in ${group}'s Python` };
  }
}

/** A program that starts llama.cpp's server from the wheel, with the flags of `llama-server`. */
export function llamaServer(python: string): string {
  const file = join(place, "llama-server");
  writeFileSync(file, `#!/bin/sh\nexec "${python}" "${join(import.meta.dirname, "llama-server.py")}" "$@"\n`);
  chmodSync(file, 0o755);
  return file;
}
