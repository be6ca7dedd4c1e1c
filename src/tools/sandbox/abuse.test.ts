/**
 * The abuse suite, against every sandbox that works here, as root and as a normal user. What counts is the outside: no
 * connection, no file, no secret in the output, the victim untouched, nothing left running. Every attack is bounded and
 * aims only at canaries made for it, so that it does no harm should a sandbox fail to hold it; one that got somewhere it
 * must not get prints `ESCAPED`.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { whole } from "../../../test/fixtures/test-size.ts";
import { endlessMs, until } from "../../../test/fixtures/until.ts";
import type { Sandbox, SandboxResult } from "../../core/sandbox.ts";
import { bubblewrapProblem, bubblewrapSandbox } from "./bubblewrap.ts";
import { isRoot, nobodyId, processTree, readableByAll, treeMemoryMb } from "./launch.ts";
import { pyodideSandbox } from "./pyodide-launch.ts";

interface AbuseWorld {
  secret: string;
  /** A file that all may read, with the secret in it. */
  secretFile: string;
  /** A folder that all may write to; it must stay empty. */
  target: string;
  port: number;
  socketFile: string;
  victim: number;
  nonce: string;
  connections(): number;
  written(): string[];
  victimUntouched(): boolean;
  /** Processes anywhere on the machine whose command line holds the nonce. */
  marked(): number[];
  close(): Promise<void>;
}

/** Sets the world up. */
async function abuseWorld(): Promise<AbuseWorld> {
  const root = mkdtempSync(join(tmpdir(), "coa-abuse-"));
  chmodSync(root, 0o755);
  const nonce = `${process.pid}${Math.floor(performance.now() * 1000)}`;
  const secret = `secret-${nonce}`;
  const secretFile = join(root, "secret.txt");
  const target = join(root, "target");
  writeFileSync(secretFile, secret, { mode: 0o644 });
  mkdirSync(target);
  chmodSync(target, 0o777);
  process.env["COA_ABUSE_SECRET"] = secret;
  let connections = 0;
  const socketFile = join(root, "socket");
  const servers: Server[] = [];
  const listen = (where: object): Promise<Server> =>
    new Promise((resolve) => {
      const server = createServer((socket) => {
        connections++;
        socket.destroy();
      });
      servers.push(server);
      server.listen(where, () => resolve(server));
    });
  const tcp = await listen({ host: "127.0.0.1", port: 0 });
  const { port } = tcp.address() as { port: number };
  await listen({ path: socketFile });
  chmodSync(socketFile, 0o777);
  await listen({ path: `\0coa-abuse-${nonce}` }).catch(() => {});
  const udp = createSocket("udp4", () => connections++);
  await new Promise<void>((resolve) => udp.bind(port, "127.0.0.1", resolve));
  // The same user as the sandboxed code, so that only the sandbox stands between them.
  const as = isRoot() ? { uid: nobodyId, gid: nobodyId } : {};
  const victim: ChildProcess = spawn("/bin/sleep", ["300"], { stdio: "ignore", ...as });
  await new Promise((resolve) => victim.once("spawn", resolve));
  return {
    secret,
    secretFile,
    target,
    port,
    socketFile,
    nonce,
    victim: victim.pid as number,
    connections: () => connections,
    written: () => readdirSync(target),
    victimUntouched() {
      const status = readFileSync(`/proc/${victim.pid}/status`, "utf8");
      return /^State:\s+S/m.test(status) && /^TracerPid:\s+0$/m.test(status);
    },
    marked: () =>
      readdirSync("/proc")
        .filter((pid) => /^\d+$/.test(pid) && commandLine(pid).includes(nonce))
        .map(Number),
    async close() {
      victim.kill("SIGKILL");
      delete process.env["COA_ABUSE_SECRET"];
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
      await new Promise<void>((resolve) => udp.close(resolve));
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
}

interface AbuseCase {
  name: string;
  code: (world: AbuseWorld) => string;
  /** The program must not have come to its end. */
  stopped?: boolean;
}

const quoted = (text: string): string => JSON.stringify(text);

/** Attacks that any Python can try. */
const pythonAbuse: AbuseCase[] = [
  { name: "an endless loop", stopped: true, code: () => "while True: pass" },
  {
    name: "an endless loop that catches everything",
    stopped: true,
    code: () =>
      "import signal\nfor name in ('SIGXCPU', 'SIGINT', 'SIGTERM'):\n    try: signal.signal(getattr(signal, name), signal.SIG_IGN)\n    except Exception: pass\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass",
  },
  { name: "an endless loop in C", stopped: true, code: () => "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')" },
  {
    name: "a flood of output",
    stopped: true,
    code: () =>
      "import sys\nline = 'x' * 100000 + '\\n'\nwhile True:\n    sys.stdout.write(line); sys.stderr.write(line)",
  },
  {
    name: "memory in one process",
    stopped: true,
    code: () => "kept = []\nfor i in range(16): kept.append(b'x' * (64 << 20))\nprint('ESCAPED', len(kept))",
  },
  {
    name: "secrets in files",
    code: ({ secretFile }) =>
      `import os\nfor path in (${quoted(secretFile)}, '/etc/shadow', '/root/.ssh/id_rsa', '/proc/1/cwd' + ${quoted(secretFile)}, '/proc/1/root' + ${quoted(secretFile)}, '/..' + ${quoted(secretFile)}):\n    try: print('ESCAPED', path, open(path).read())\n    except Exception as e: print(type(e).__name__)`,
  },
  {
    name: "secrets in the environment",
    code: () =>
      "import os, glob\nprint(dict(os.environ))\nfor path in glob.glob('/proc/*/environ') + ['/proc/self/environ', '/proc/1/environ']:\n    try: print(open(path, 'rb').read())\n    except Exception as e: print(type(e).__name__)",
  },
  {
    name: "the network by sockets",
    code: ({ port, socketFile, nonce }) =>
      `import socket\ndef attempt(family, kind, address):\n    try:\n        s = socket.socket(family, kind); s.settimeout(0.3)\n        s.connect(address); s.send(b'hello'); print('sent', address)\n    except BaseException as e: print(type(e).__name__)\nattempt(socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', ${port}))\nattempt(socket.AF_INET, socket.SOCK_DGRAM, ('127.0.0.1', ${port}))\nattempt(socket.AF_INET6, socket.SOCK_STREAM, ('::ffff:127.0.0.1', ${port}))\nif hasattr(socket, 'AF_UNIX'):\n    attempt(socket.AF_UNIX, socket.SOCK_STREAM, ${quoted(socketFile)})\n    attempt(socket.AF_UNIX, socket.SOCK_STREAM, '\\0coa-abuse-${nonce}')`,
  },
  {
    name: "the network by a library",
    code: ({ port }) =>
      `import urllib.request\ntry: print('ESCAPED', urllib.request.urlopen('http://127.0.0.1:${port}/', timeout=0.5).status)\nexcept BaseException as e: print(type(e).__name__)`,
  },
  {
    name: "writing outside",
    code: ({ target }) =>
      `import os\nfor path in (${quoted(target)} + '/file', '/etc/coa-abuse', '/usr/coa-abuse', '/proc/1/root' + ${quoted(target)} + '/file'):\n    try: open(path, 'w').write('x')\n    except Exception as e: print(type(e).__name__)\ntry: os.makedirs(${quoted(target)}, exist_ok=True); open(${quoted(target)} + '/again', 'w').write('x')\nexcept Exception as e: print(type(e).__name__)`,
  },
  {
    name: "symbolic links to the outside",
    code: ({ target, secretFile }) =>
      `import os\nfor at, (name, to) in enumerate((('out', ${quoted(target)}), ('secret', ${quoted(secretFile)}), ('up', '../../../../..' + ${quoted(target)}))):\n    try:\n        os.symlink(to, name)\n        if name == 'secret': print('ESCAPED', open(name).read())\n        else: open(name + '/linked', 'w').write('x')\n    except Exception as e: print(type(e).__name__)`,
  },
  {
    name: "killing the parent and a stranger",
    code: ({ victim }) =>
      `import os, signal\nfor pid in (${victim}, ${process.pid}):\n    try: os.kill(pid, signal.SIGTERM if pid == ${victim} else 0); print('reached', pid)\n    except BaseException as e: print(type(e).__name__)`,
  },
  {
    name: "a pickle that runs a command",
    code: ({ target }) =>
      `import pickle, os\nclass Evil:\n    def __reduce__(self): return (os.system, ('echo x > ' + ${quoted(`${target}/pickled`)},))\ntry: pickle.loads(pickle.dumps(Evil()))\nexcept BaseException as e: print(type(e).__name__)`,
  },
  {
    name: "filling the disk",
    code: () =>
      "import os\nfor folder in ('/dev/shm', '/tmp', '.'):\n    size = 0\n    try:\n        for i in range(200):\n            with open(f'{folder}/fill{i}', 'wb') as f: f.write(b'x' * (1 << 20))\n            size += 1\n    except BaseException as e: pass\n    print('ESCAPED' if size > 150 else 'filled', folder, size)",
  },
];

/** Attacks on the kernel, for sandboxes that give the code real system calls. */
const kernelAbuse: AbuseCase[] = [
  {
    name: "a fork bomb",
    code: () =>
      "import os, time\ncount = 0\nfor i in range(200):\n    try:\n        if os.fork() == 0:\n            time.sleep(1.5); os._exit(0)\n        count += 1\n    except OSError: break\nprint('ESCAPED' if count > 64 else 'forked', count)",
  },
  {
    name: "memory across processes",
    code: () =>
      "import os, time\nfor i in range(6):\n    try:\n        if os.fork() == 0:\n            kept = b'x' * (150 << 20); time.sleep(0.7); os._exit(42)\n    except OSError: break\ndone = 0\nwhile True:\n    try: done += os.waitstatus_to_exitcode(os.wait()[1]) == 42\n    except ChildProcessError: break\nprint('ESCAPED' if done > 2 else 'held', done)",
  },
  {
    name: "a daemon left behind",
    code: ({ nonce }) =>
      `import os\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        os.closerange(0, 3)\n        os.execv('/usr/bin/sleep', ['sleep', '20.${nonce}'])\n    os._exit(0)\nos.wait()\nprint('left')`,
  },
  {
    name: "a new user namespace",
    code: () =>
      "import ctypes, subprocess\nlibc = ctypes.CDLL(None, use_errno=True)\nfor flag in (0x10000000, 0x10000000 | 0x20000, 0x20000, 0x40000000):\n    if libc.unshare(flag) == 0: print('ESCAPED unshare', hex(flag))\ntry:\n    done = subprocess.run(['/usr/bin/unshare', '-Ur', 'true'], capture_output=True)\n    print('ESCAPED' if done.returncode == 0 else 'denied')\nexcept OSError as e: print(e)",
  },
  {
    name: "mounting",
    code: () =>
      "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nprint('ESCAPED' if libc.mount(b'none', b'/work', b'tmpfs', 0, None) == 0 else 'denied')\nprint('ESCAPED' if libc.mount(b'none', b'/usr', None, 0x20 | 0x1000, None) == 0 else 'denied')\nprint('ESCAPED' if libc.umount2(b'/proc', 2) == 0 else 'denied')\nprint('ESCAPED' if libc.chroot(b'/tmp') == 0 else 'denied')",
  },
  {
    name: "ptrace of a stranger",
    code: ({ victim }) =>
      `import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nfor pid in (${victim}, 1):\n    if libc.ptrace(16, pid, None, None) == 0:\n        print('ESCAPED' if pid != 1 else 'attached to its own init')\n        libc.ptrace(17, pid, None, None)\n    else: print('denied')`,
  },
  {
    name: "switches of the kernel",
    code: () =>
      "import os\nfor path in ('/proc/sys/kernel/core_pattern', '/proc/sys/kernel/hostname', '/proc/sys/vm/overcommit_memory', '/proc/sysrq-trigger', '/sys/kernel/uevent_helper', '/sys/fs/cgroup/memory/memory.limit_in_bytes', '/sys/fs/cgroup/cgroup.procs', '/dev/mem', '/dev/kmsg', '/dev/sda', '/dev/vda'):\n    try:\n        os.close(os.open(path, os.O_WRONLY)); print('ESCAPED', path)\n    except OSError as e: pass\nprint('done')",
  },
  {
    name: "becoming root or another user",
    code: () =>
      "import os\nfor work in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]), lambda: os.mknod('disk', 0o60666, os.makedev(8, 0))):\n    try: work(); print('ESCAPED')\n    except OSError: pass\nprint('done', os.getuid())",
  },
  {
    name: "descriptors that were left open",
    code: () =>
      "import os\nfor fd in range(3, 256):\n    try: os.fstat(fd); print('ESCAPED', fd, os.readlink(f'/proc/self/fd/{fd}'))\n    except OSError: pass\nprint('done')",
  },
  {
    name: "raising its own limits",
    code: () =>
      "import resource\nfor name in ('CPU', 'AS', 'NPROC', 'FSIZE', 'NOFILE'):\n    kind = getattr(resource, 'RLIMIT_' + name)\n    try: resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)); print('ESCAPED', name)\n    except (ValueError, OSError): pass\nprint('done')",
  },
];

/** Attacks on the JavaScript that Pyodide lives in. */
const pyodideAbuse: AbuseCase[] = [
  {
    name: "os.system, fork and subprocess",
    code: ({ target }) =>
      `import os, subprocess\nprint(os.system('echo x > ' + ${quoted(`${target}/system`)}))\nfor work in (lambda: os.fork(), lambda: subprocess.run(['/bin/touch', ${quoted(`${target}/run`)}]), lambda: os.execv('/bin/touch', ['touch', ${quoted(`${target}/exec`)}])):\n    try: work(); print('ran')\n    except BaseException as e: print(type(e).__name__)`,
  },
  {
    name: "the js module and run_js",
    code: ({ target, port }) =>
      `def attempt(work):\n    try: print('got', str(work())[:80])\n    except BaseException as e: print(type(e).__name__)\nimport js\nattempt(lambda: js.process.kill)\nattempt(lambda: js.require('fs').writeFileSync(${quoted(`${target}/js`)}, 'x'))\nattempt(lambda: js.fetch('http://127.0.0.1:${port}/'))\nattempt(lambda: js.WebSocket.new('ws://127.0.0.1:${port}/'))\nattempt(lambda: js.globalThis)\ndef run():\n    from pyodide.code import run_js\n    return run_js("process.mainModule")\nattempt(run)\nattempt(lambda: js.constructor.constructor('return process')())`,
  },
  {
    name: "constructors that make code from strings",
    code: () =>
      "import pyodide_js\nfrom pyodide.ffi import to_js\nfor thing in (pyodide_js, pyodide_js.runPython, pyodide_js.FS, to_js([1])):\n    try:\n        made = thing.constructor.constructor('return globalThis')\n        print('ESCAPED', made())\n    except BaseException as e: print(type(e).__name__)",
  },
  {
    name: "mounting host folders",
    code: ({ target, secretFile }) =>
      `import pyodide_js, os\ndef attempt(work):\n    try: print('got', work())\n    except BaseException as e: print(type(e).__name__)\nattempt(lambda: pyodide_js.mountNodeFS('/host', '/'))\nattempt(lambda: os.listdir('/host'))\nattempt(lambda: open('/host' + ${quoted(secretFile)}).read())\nattempt(lambda: open('/host' + ${quoted(target)} + '/mounted', 'w').write('x'))\nattempt(lambda: pyodide_js.FS.mount(pyodide_js.FS.filesystems.NODEFS, {'root': '/'}, '/tmp'))\nattempt(lambda: open('/tmp' + ${quoted(secretFile)}).read())`,
  },
  {
    name: "packages from the network",
    code: ({ port }) =>
      `import pyodide_js\nfor work in (lambda: pyodide_js.loadPackage('http://127.0.0.1:${port}/x.whl'), lambda: pyodide_js.loadPackage('numpy'), lambda: pyodide_js._api.loadBinaryFile('http://127.0.0.1:${port}/x')):\n    try: print(type(work()))\n    except BaseException as e: print(type(e).__name__)\nimport asyncio\ntry: asyncio.run(pyodide_js.loadPackage('http://127.0.0.1:${port}/x.whl'))\nexcept BaseException as e: print(type(e).__name__)`,
  },
  {
    name: "a walk through every object that can be reached",
    code: () =>
      `import pyodide_js, js\nfrom pyodide.ffi import JsProxy\nwanted = {'process', 'require', 'mainModule', 'child_process', 'fetch', 'WebSocket', 'XMLHttpRequest', 'getBuiltinModule', 'binding', 'dlopen', 'spawnSync', 'execSync', 'readFileSync', 'writeFileSync', 'Worker', 'globalThis'}\nqueue, seen, found = [('js', js), ('pyodide_js', pyodide_js)], 0, set()\nwhile queue and seen < 150:\n    path, thing = queue.pop(0)\n    seen += 1\n    try: names = dir(thing)\n    except BaseException: continue\n    for name in names:\n        if name.startswith('__'): continue\n        try: value = getattr(thing, name)\n        except BaseException: continue\n        if not isinstance(value, JsProxy): continue\n        if name in wanted: found.add(name); print('found', path + '.' + name)\n        if path.count('.') < 5: queue.append((path + '.' + name, value))\nprint('ESCAPED' if found else 'nothing', seen)`,
  },
];

const limits = { cpuMs: 10_000, wallMs: endlessMs, memoryMb: 256, outputCharacters: 4_000 };
const short = { cpuMs: 1_000, wallMs: 2_000 };
const user = isRoot() ? "root" : "a normal user";
const linux = process.platform === "linux";

function suite(name: string, make: () => Sandbox, cases: AbuseCase[], skip: string | false): void {
  describe(`${name}, started by ${user}`, { skip }, () => {
    let sandbox: Sandbox;
    let world: AbuseWorld;
    before(async () => {
      world = await abuseWorld();
      sandbox = make();
    });
    after(async () => {
      const family = processTree(process.pid).filter((pid) => pid !== process.pid && pid !== world.victim);
      await sandbox.close();
      await world.close();
      await until(() => family.every((pid) => !processTree(process.pid).includes(pid))); // no child is left
    });
    for (const one of cases) {
      it(`contains ${one.name}`, async () => {
        const before = treeMemoryMb(process.pid);
        let peak = 0;
        const watch = setInterval(() => {
          peak = Math.max(peak, treeMemoryMb(process.pid) - before);
        }, 40);
        let result: SandboxResult;
        try {
          const own = one.stopped ? { ...limits, ...short } : limits;
          result = await sandbox.run({ language: "python", code: one.code(world), limits: own, sessionKey: "hostile" });
        } finally {
          clearInterval(watch);
        }
        const output = `${result.stdout}${result.stderr}`;
        assert.doesNotMatch(output, /ESCAPED/, output);
        assert.ok(!output.includes(world.secret), "the secret is out");
        assert.ok(result.stdout.length <= limits.outputCharacters + 60, "the output is bounded");
        assert.equal(world.connections(), 0, "connections");
        assert.deepEqual(world.written(), [], "files in the canary folder");
        assert.ok(world.victimUntouched(), "the victim");
        // A child that replaces this one may be starting meanwhile: it has its own allowance.
        assert.ok(peak < 1_200, `${Math.round(peak)} MB more at its peak`);
        if (one.stopped) assert.notEqual(result.verdict, "ok");
        else assert.match(result.verdict, /^(ok|failed|crashed|memory)$/, output);
        await until(() => world.marked().length === 0); // no process is left behind
        const next = await sandbox.run({ language: "python", code: "print(6 * 7)", limits, sessionKey: "honest" });
        assert.equal(next.stdout, "42\n", `an honest run afterwards: ${JSON.stringify(next)}`);
      });
    }
  });
}

/** Every fifth attack in the short tier, every one in the long tier. */
const some = (cases: AbuseCase[]) => (whole ? cases : cases.filter((_, index) => index % 5 === 0));

const needsProc = linux ? false : "the outside is watched through /proc, which this system has not";
suite("pyodide", () => pyodideSandbox({ limits, warm: 1 }), some([...pythonAbuse, ...pyodideAbuse]), needsProc);
suite(
  "bubblewrap",
  () => bubblewrapSandbox({ limits }),
  some([...pythonAbuse, ...kernelAbuse]),
  needsProc || (bubblewrapProblem() ?? false),
);

const self = fileURLToPath(import.meta.url);
const mayRead = readableByAll(self) && readableByAll(process.execPath);
const asUser =
  !linux || !isRoot() ? "only root can become a normal user" : !mayRead && "other users can't read this folder";

if (whole)
  describe("the same as a normal user", { skip: asUser }, () => {
    it("is contained as well", async () => {
      const home = mkdtempSync(join(tmpdir(), "coa-abuse-home-"));
      chmodSync(home, 0o777);
      const environment = { PATH: process.env["PATH"], HOME: home, TMPDIR: home, COA_FULL: process.env["COA_FULL"] };
      const identity = { uid: 54_321, gid: 54_321 };
      const child = spawn(process.execPath, ["--test-reporter=spec", self], {
        env: environment,
        cwd: "/",
        ...identity,
      });
      let output = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
      const status = await new Promise((resolve) => child.once("close", resolve));
      rmSync(home, { recursive: true, force: true });
      assert.equal(status, 0, output);
      assert.match(output, /pyodide, started by a normal user/);
    });
  });
