/**
 * Packages that only some users need: optional peers, installed by hand. One table, so that an error and `coa doctor` name the
 * same remedy. `docs/dependencies.md` has the reason for each.
 */
import { UsageError } from "../../core/errors.ts";

export const optionalPeers = {
  "onnxruntime-node": "training",
  "@cortex-js/compute-engine": "grading symbolic mathematics",
  "@modelcontextprotocol/client": "calling the tools of MCP servers",
  "@modelcontextprotocol/server": "serving MCP at /mcp",
  "@opentelemetry/api": "spans of served requests",
  pg: "a state in PostgreSQL",
  pyodide: "running Python in WebAssembly",
} as const;

export type OptionalPeer = keyof typeof optionalPeers;

/** The command that adds a peer. The install script of onnxruntime-node fetches GPU binaries, which no CPU needs. */
export const peerRemedy = (name: OptionalPeer): string =>
  `npm install ${name === "onnxruntime-node" ? "--ignore-scripts " : ""}${name}`;

/** Whether a package can be found; it is not loaded. */
export function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** Loads a peer, or throws an error with the command that adds it. */
export async function loadPeer<T>(name: OptionalPeer, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw isInstalled(name) ? error : missingPeer(name);
  }
}

export const missingPeer = (name: OptionalPeer): UsageError =>
  new UsageError(`${optionalPeers[name]} needs the package ${name}: ${peerRemedy(name)}`, { code: "missing_package" });
