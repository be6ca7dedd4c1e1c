/** The system's python3 in Google's nsjail, where it is built and its place is given. */

import { existsSync } from "node:fs";
import { CoaError } from "../../core/errors.ts";
import type { Sandbox, SandboxLimits, SandboxRequest, SandboxResult } from "../../core/sandbox.ts";
import { childPool } from "./child-pool.ts";
import { isRoot, nobodyId } from "./launch.ts";
import { withLimits } from "./limits.ts";
import { limitsLine, pythonEntry, startOneShot, tellsStart } from "./one-shot.ts";

export interface NsjailOptions {
  path: string;
  limits?: Partial<SandboxLimits>;
  concurrency?: number;
  python?: string;
}

// Calls that no solution of a task needs and that have been ways out of namespaces before.
const policy =
  "POLICY quiet { ERRNO(1) { ptrace, process_vm_readv, process_vm_writev, mount, umount2, pivot_root, unshare, setns, " +
  "keyctl, add_key, request_key, bpf, perf_event_open, userfaultfd, kexec_load, init_module, finit_module } } " +
  "USE quiet DEFAULT ALLOW";

/** Makes the sandbox; throws where there is no nsjail at `path`. */
export function nsjailSandbox(options: NsjailOptions): Sandbox {
  if (!existsSync(options.path))
    throw new CoaError("sandbox", `no nsjail at ${options.path}: build it, or choose bubblewrap`);
  const pool = childPool({
    start: () =>
      startOneShot({
        command: options.path,
        args: nsjailArguments(options),
        user: isRoot() ? nobodyId : undefined,
        tells: true,
      }),
    isolation: "trajectory",
    warm: 0,
    most: Math.max(1, options.concurrency ?? 8),
  });

  async function run(request: SandboxRequest): Promise<SandboxResult> {
    const limits = withLimits(request.limits, options.limits);
    const input = limitsLine(limits, 64) + request.code;
    return pool.use(undefined, async (child) => {
      const result = await child.run({ input, stdin: request.stdin ?? "", limits, signal: request.signal });
      return { result, keep: false };
    });
  }

  const caveats = [
    "total memory of several processes is checked every 50 ms, not by the kernel",
    "the code talks to the machine's own kernel; files under /usr can be read",
  ];
  return { level: { kind: "nsjail", strength: "strong", caveats }, languages: ["python"], run, close: pool.close };
}

function nsjailArguments(options: NsjailOptions): string[] {
  const bytes = 64 * 1024 * 1024;
  const folders = ["/usr", "/bin", "/lib", "/lib64"].filter((folder) => existsSync(folder));
  return [
    ...["--mode", "o", "--really_quiet", "--user", `${nobodyId}:${nobodyId}:1`, "--group", `${nobodyId}:${nobodyId}:1`],
    ...["--hostname", "sandbox", "--pass_fd", "3", "--pass_fd", "4", "--time_limit", "0"],
    ...folders.flatMap((folder) => ["--bindmount_ro", folder]),
    ...["/dev/null", "/dev/zero", "/dev/urandom"].flatMap((file) => ["--bindmount_ro", file]),
    ...["/tmp", "/work", "/dev/shm"].flatMap((folder) => ["--mount", `none:${folder}:tmpfs:size=${bytes}`]),
    ...["--cwd", "/work", "--env", "PATH=/usr/bin:/bin", "--env", "HOME=/work", "--env", "LANG=C.UTF-8"],
    // Limits are lowered by the entry program; nsjail's own defaults would be lower than some tasks need.
    ...["--rlimit_as", "hard", "--rlimit_cpu", "hard", "--rlimit_fsize", "hard", "--rlimit_nproc", "hard"],
    ...["--seccomp_string", policy],
    ...["--", options.python ?? "/usr/bin/python3", "-I", "-B", "-c", tellsStart + pythonEntry],
  ];
}
