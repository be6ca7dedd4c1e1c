/**
 * Two `coa serve` processes over one state. The first runs from beginning to end, and its memory is measured; the second is
 * killed again and again, and what it leaves the first one finishes.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";

const main = join(import.meta.dirname, "../../src/cli/main.ts");
const probe = join(import.meta.dirname, "memory.ts");

/** What a server holds: objects that are in use, and pages of the process. */
export interface Memory {
  liveMb: number;
  rssMb: number;
}

export interface SoakServers {
  origins: readonly [steady: string, killed: string];
  /** Kills the second server and starts it again; resolves when it accepts requests. */
  kill(): Promise<void>;
  memory(): Promise<Memory>;
  stop(): Promise<void>;
}

/** Starts them in a folder. */
export async function startServers(folder: string, state: string, model: string): Promise<SoakServers> {
  await mkdir(join(folder, "docs"), { recursive: true });
  await writeFile(join(folder, "docs/a.txt"), "Ada lives in Lyon.\n");
  const ports = [await freePort(), await freePort()] as const;
  const start = async (index: 0 | 1): Promise<ChildProcess> => {
    const words = ["serve", "--base-url", model, "--model", "served", "--profile", "mhqa", "--state", state];
    const more = ["--docs", join(folder, "docs"), "--set", "chain.enforcement=report", "--port", String(ports[index])];
    const child = spawn(process.execPath, ["--expose-gc", "--import", probe, main, ...words, ...more], {
      cwd: folder,
      env: { ...process.env, COA_HOME: join(folder, `home-${index}`) },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const origin = `http://127.0.0.1:${ports[index]}`;
    while (
      !(await fetch(`${origin}/health`).then(
        ({ ok }) => ok,
        () => false,
      ))
    ) {
      if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return child;
  };
  const end = async (child: ChildProcess, signal: NodeJS.Signals) => {
    const ended = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
    child.kill(signal);
    await ended;
  };
  const steady = await start(0);
  let killed = await start(1);
  return {
    origins: [`http://127.0.0.1:${ports[0]}`, `http://127.0.0.1:${ports[1]}`],
    async kill() {
      await end(killed, "SIGKILL");
      killed = await start(1);
    },
    async memory() {
      steady.send("memory");
      const [measured] = (await once(steady, "message")) as [Memory];
      return measured;
    },
    async stop() {
      await Promise.all([end(steady, "SIGTERM"), end(killed, "SIGTERM")]);
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
