/** A sandbox runs untrusted code: code, stdin and limits in; output and a verdict out. It always says how strong it is. */

export interface SandboxLimits {
  cpuMs: number;
  wallMs: number;
  memoryMb: number;
  /** Of stdout and stderr each; the middle is cut out beyond that. */
  outputCharacters: number;
}

export interface SandboxRequest {
  language: "python" | "javascript";
  code: string;
  stdin?: string;
  limits?: Partial<SandboxLimits>;
  /** Same key, same warm child: state may be kept within one trajectory and never leaks into another. */
  sessionKey?: string;
  signal?: AbortSignal;
}

export interface SandboxResult {
  verdict: "ok" | "failed" | "timeout" | "memory" | "crashed";
  exitCode: number | null;
  stdout: string;
  stderr: string;
  ms: number;
}

export interface Sandbox {
  /** What separates hostile code from the machine. */
  readonly level: {
    /** `pyodide`, `bubblewrap`, `nsjail`, or a name of your own. */
    kind: string;
    /** `strong`: separate kernel namespaces or a remote machine. `moderate`: language runtime plus process permissions. */
    strength: "strong" | "moderate";
    /** What it does not contain on this machine, in plain words. */
    caveats: string[];
    /** What programs can't do in it though Python elsewhere can: a grader must not count that as a failure. */
    cannot?: readonly ("deep recursion" | "large memory" | "threads")[];
    /** How many times more processor time it takes than CPython does. */
    slowdown?: number;
  };
  readonly languages: readonly SandboxRequest["language"][];
  run(request: SandboxRequest): Promise<SandboxResult>;
  endSession?(sessionKey: string): void;
  close(): Promise<void>;
}

export type SandboxLevel = Sandbox["level"];
