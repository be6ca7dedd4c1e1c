/**
 * A seccomp filter as the kernel wants it (classic BPF): system calls that no program of ours needs, and that have been
 * ways out of namespaces before, answer "not permitted". Everything else stays allowed; this is a second layer of
 * protection.
 */

interface Machine {
  audit: number;
  calls: number[];
}

// ptrace, process_vm_readv/writev, mount, umount2, pivot_root, chroot, unshare, setns, keyctl, add_key, request_key, bpf,
// perf_event_open, userfaultfd, kexec_load, kexec_file_load, init/finit/delete_module, open_by_handle_at, swapon, swapoff,
// reboot, acct, syslog, quotactl; then those with one number everywhere: io_uring (3), the new mount calls (7), pidfd_getfd.
const everywhere = [425, 426, 427, 428, 429, 430, 431, 432, 433, 442, 438];
const machines: Partial<Record<NodeJS.Architecture, Machine>> = {
  x64: {
    audit: 0xc000003e,
    calls: [
      101, 310, 311, 165, 166, 155, 161, 272, 308, 250, 248, 249, 321, 298, 323, 246, 320, 175, 313, 176, 304, 167, 168,
      169, 163, 103, 179, 172, 173,
    ],
  },
  arm64: {
    audit: 0xc00000b7,
    calls: [
      117, 270, 271, 40, 39, 41, 51, 97, 268, 219, 217, 218, 280, 241, 282, 104, 294, 105, 273, 106, 265, 224, 225, 142,
      89, 116, 60,
    ],
  },
};

const load = 0x20; // BPF_LD | BPF_W | BPF_ABS
const jumpIfEqual = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const jumpIfAtLeast = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const give = 0x06; // BPF_RET | BPF_K
const allow = 0x7fff0000;
const notPermitted = 0x00050001; // SECCOMP_RET_ERRNO | EPERM
const killProcess = 0x80000000;

/** The filter for this machine, or undefined where the numbers of its system calls are not known here. */
export function systemCallFilter(architecture: NodeJS.Architecture = process.arch): Uint8Array | undefined {
  const machine = machines[architecture];
  if (!machine) return undefined;
  const calls = [...machine.calls, ...everywhere];
  const program: [code: number, ifTrue: number, ifFalse: number, value: number][] = [
    [load, 0, 0, 4], // the architecture of the call: a 32-bit call has other numbers
    [jumpIfEqual, 1, 0, machine.audit],
    [give, 0, 0, killProcess],
    [load, 0, 0, 0], // the number of the call
    [jumpIfAtLeast, calls.length + 1, 0, 0x40000000], // x32 numbers on x86-64: same calls under another name
    ...calls.map((call, at): [number, number, number, number] => [jumpIfEqual, calls.length - at, 0, call]),
    [give, 0, 0, allow],
    [give, 0, 0, notPermitted],
  ];
  const bytes = new DataView(new ArrayBuffer(program.length * 8));
  for (const [at, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.setUint16(at * 8, code, true);
    bytes.setUint8(at * 8 + 2, ifTrue);
    bytes.setUint8(at * 8 + 3, ifFalse);
    bytes.setUint32(at * 8 + 4, value, true);
  }
  return new Uint8Array(bytes.buffer);
}
