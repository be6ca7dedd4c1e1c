/**
 * Which sandbox runs the code. A configured nsjail goes first; otherwise Pyodide where it is installed, which is the
 * same Python everywhere, except on a Node that cannot forbid the network, where bubblewrap goes
 * first if it works. Whatever is chosen says how strong it is, and `sandboxLevels` tells about all of them.
 */
import { checkOptions } from "../../base/work/check-options.ts";
import { CoaError, UsageError } from "../../core/errors.ts";
import type { Sandbox, SandboxLevel, SandboxLimits } from "../../core/sandbox.ts";
import { bubblewrapProblem, bubblewrapSandbox } from "./bubblewrap.ts";
import { nsjailSandbox } from "./nsjail.ts";
import { pyodideFolder, pyodideLevel, pyodideSandbox } from "./pyodide-launch.ts";

export interface ChooseSandboxOptions {
  /** Which one; by default `COA_SANDBOX`, else the rule at the top of this file. */
  kind?: "pyodide" | "bubblewrap" | "nsjail";
  limits?: Partial<SandboxLimits>;
  /** See `pyodideSandbox`; the other kinds give every run a sandbox of its own anyway. */
  isolation?: "trajectory" | "run";
  /** Sandboxes that are started ahead of time. */
  warm?: number;
  /** Environment variables. Default: those of the process. */
  environment?: Record<string, string | undefined>;
}

const kinds = ["pyodide", "bubblewrap", "nsjail"] as const;
const nodeForbidsNetwork = Number(process.versions.node.split(".")[0]) >= 26;

/** Makes the Python sandbox for this machine and these settings. */
export function chooseSandbox(options: ChooseSandboxOptions = {}): Sandbox {
  checkOptions("chooseSandbox", options);
  const { limits, isolation, warm } = options;
  const { kind, nsjail } = chosenKind(options);
  if (kind === "nsjail") {
    if (!nsjail) throw new UsageError("the nsjail sandbox needs to know where nsjail is: set COA_NSJAIL");
    return nsjailSandbox({ path: nsjail, limits });
  }
  if (kind === "bubblewrap") return bubblewrapSandbox({ limits, warm });
  const pyodide = () => pyodideSandbox({ limits, isolation, warm });
  return options.kind ? pyodide() : whenThere(pyodide);
}

/** A sandbox whose package may be missing: the first program then meets the error that names the package. */
function whenThere(make: () => Sandbox): Sandbox {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof CoaError) || error.code !== "missing_package") throw error;
    const level: SandboxLevel = { kind: "missing", strength: "moderate", caveats: [] };
    return { level, languages: ["python"], run: () => Promise.reject(error), close: () => Promise.resolve() };
  }
}

function kindFrom(text: string | undefined): (typeof kinds)[number] | undefined {
  if (text === undefined || text === "" || text === "auto") return undefined;
  if ((kinds as readonly string[]).includes(text)) return text as (typeof kinds)[number];
  throw new UsageError(`COA_SANDBOX=${text} is not a sandbox: use ${kinds.join(", ")} or auto`);
}

function chosenKind({ kind, environment = process.env }: ChooseSandboxOptions) {
  const nsjail = environment["COA_NSJAIL"];
  return { kind: kind ?? kindFrom(environment["COA_SANDBOX"]) ?? automatic(nsjail), nsjail };
}

function automatic(nsjail?: string): (typeof kinds)[number] {
  if (nsjail) return "nsjail";
  if (!nodeForbidsNetwork && bubblewrapProblem() === undefined) return "bubblewrap";
  return pyodideFolder() || bubblewrapProblem() !== undefined ? "pyodide" : "bubblewrap";
}

/** One sandbox as `coa doctor` shows it. */
export interface SandboxFinding extends SandboxLevel {
  kind: string;
  available: boolean;
  /** This is the one `chooseSandbox` takes. */
  chosen: boolean;
  /** What to do to have it, where it isn't there. */
  remedy?: string;
}

/** Every sandbox this software knows, whether it works here, and which one is used. */
export async function sandboxLevels(options: ChooseSandboxOptions = {}): Promise<SandboxFinding[]> {
  const { kind: chosen, nsjail } = chosenKind(options);
  const findings: SandboxFinding[] = [];
  const add = (kind: string, make: () => Sandbox | SandboxLevel, remedy: string): void => {
    try {
      const made = make();
      const level = "level" in made ? made.level : made;
      if ("close" in made) void made.close();
      findings.push({ ...level, kind, available: true, chosen: kind === chosen });
    } catch (error) {
      const why = error instanceof CoaError ? error.message : String(error);
      const strength = kind === "pyodide" ? "moderate" : "strong";
      const finding = { kind, strength, available: false, chosen: kind === chosen } as const;
      findings.push({ ...finding, caveats: [], remedy: `${why}; ${remedy}` });
    }
  };
  add("pyodide", () => pyodideLevel(), "npm install pyodide");
  add("bubblewrap", () => bubblewrapSandbox(), "apt install bubblewrap python3");
  add(
    "nsjail",
    () => {
      if (!nsjail) throw new CoaError("sandbox", "not configured");
      return nsjailSandbox({ path: nsjail });
    },
    "set COA_NSJAIL to the nsjail program",
  );
  return findings;
}
