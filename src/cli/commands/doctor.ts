/** What works on this machine, what is missing, and how to get it. Every line is found out by trying, never assumed. */

import { packageVersion } from "../../base/files/package-version.ts";
import { openWorkspace } from "../../base/files/workspace.ts";
import { isInstalled, type OptionalPeer, optionalPeers, peerRemedy } from "../../base/work/optional-peer.ts";
import { messageOf } from "../../core/errors.ts";
import { defineCommand } from "../command.ts";
import { table } from "../output.ts";

/** One finding; `remedy` says what to do where something is missing. */
export interface Finding {
  what: string;
  ok: boolean;
  detail: string;
  remedy?: string;
}

export default defineCommand({
  summary: "Check what works on this machine, what is missing, and how to get it.",
  examples: ["coa doctor", "coa doctor --json"],
  options: {},
  async run({ out, signal }) {
    const findings = [
      versions(),
      await engine(),
      ...(await sandboxes()),
      ...peers(),
      await endpoint(signal),
      await disk(),
    ];
    const rows = findings.map((finding) => [
      finding.ok ? out.style("green", "ok") : out.style("yellow", "--"),
      finding.what,
      finding.remedy ? `${finding.detail} (${finding.remedy})` : finding.detail,
    ]);
    return { json: { version: packageVersion(), findings }, text: table(rows) };
  },
});

function versions(): Finding {
  const detail = `chain-of-agents ${packageVersion()}, Node ${process.versions.node}, ${process.platform}-${process.arch}`;
  return { what: "versions", ok: Number(process.versions.node.split(".")[0]) >= 24, detail };
}

async function engine(): Promise<Finding> {
  try {
    const { listSupportedBackends } = await import("onnxruntime-node");
    const bundled = listSupportedBackends().filter((backend) => backend.bundled);
    const detail = `onnxruntime native: ${bundled.map((backend) => backend.name).join(", ")}`;
    return { what: "engine", ok: true, detail };
  } catch {
    if (!isInstalled("onnxruntime-node")) {
      const remedy = `to train, add it: ${peerRemedy("onnxruntime-node")}; asking, serving and evaluating work without it`;
      return { what: "engine", ok: false, detail: "no training runtime installed", remedy };
    }
    const remedy = "train on another machine (coa serve trainer); sampling is not affected";
    return { what: "engine", ok: false, detail: "no native onnxruntime for this platform", remedy };
  }
}

/** The optional packages that no other line speaks of. */
function peers(): Finding[] {
  const told: OptionalPeer[] = ["onnxruntime-node", "pyodide"];
  const names = (Object.keys(optionalPeers) as OptionalPeer[]).filter((name) => !told.includes(name));
  return names.map((name) => {
    const ok = isInstalled(name);
    const detail = `for ${optionalPeers[name]}: ${ok ? "installed" : "not installed"}`;
    return { what: name, ok, detail, remedy: ok ? undefined : peerRemedy(name) };
  });
}

async function sandboxes(): Promise<Finding[]> {
  const { sandboxLevels } = await import("../../tools/sandbox/choose-sandbox.ts");
  return (await sandboxLevels()).map(({ kind, available, strength, caveats, remedy }) => ({
    what: `sandbox ${kind}`,
    ok: available,
    detail: available ? [strength, ...caveats].join("; ") : "not available",
    remedy: available ? undefined : remedy,
  }));
}

async function endpoint(signal: AbortSignal): Promise<Finding> {
  const base = process.env["OPENAI_BASE_URL"];
  const what = "model endpoint";
  if (!base) {
    return { what, ok: false, detail: "OPENAI_BASE_URL is not set", remedy: "not needed for the embedded model" };
  }
  const response = await fetch(`${base.replace(/\/$/, "")}/models`, {
    headers: { authorization: `Bearer ${process.env["OPENAI_API_KEY"] ?? ""}` },
    signal: AbortSignal.any([signal, AbortSignal.timeout(5000)]),
  }).catch((error: Error) => error);
  if (response instanceof Error) {
    const detail = `${base} can't be reached: ${response.message}`;
    return { what, ok: false, detail, remedy: "is the server running?" };
  }
  const { ok, status } = response;
  return { what, ok, detail: `${base} answers ${status}`, remedy: ok ? undefined : "check OPENAI_API_KEY" };
}

async function disk(): Promise<Finding> {
  const workspace = await openWorkspace().catch((error: unknown) => messageOf(error));
  if (typeof workspace === "string")
    return { what: "disk", ok: false, detail: workspace, remedy: "set COA_HOME to a folder that can be written" };
  const gigabytes = (await workspace.freeBytes()) / 1e9;
  const ok = gigabytes > 1;
  const detail = `${gigabytes.toFixed(1)} GB free for ${workspace.root}`;
  return { what: "disk", ok, detail, remedy: ok ? undefined : "free some space" };
}
