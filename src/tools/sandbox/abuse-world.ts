/**
 * The outside of the abuse suite: secrets, canary folders, listeners and a victim process, so that each attack is judged
 * by what it did to the world and not by what it says. Everything here is harmless to lose.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRoot, nobody } from "./launch.ts";

export interface AbuseWorld {
  secret: string;
  /** A file that anybody may read, with the secret in it. */
  secretFile: string;
  /** A folder that anybody may write to; it must stay empty. */
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
export async function abuseWorld(): Promise<AbuseWorld> {
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
  const as = isRoot() ? { uid: nobody, gid: nobody } : {};
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
