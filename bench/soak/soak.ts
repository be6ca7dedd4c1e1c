/**
 * A soak: traffic of every kind for a time, over an upstream that fails and beside a server that is killed. Nothing may hang,
 * nothing that a client was told may be lost, and the memory of the server that runs through must stay flat.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seededRandom } from "../../src/base/work/random.ts";
import { soakClient, type Told } from "./clients.ts";
import { flakyUpstream } from "./flaky-upstream.ts";
import { type Memory, startServers } from "./servers.ts";

export interface SoakOptions {
  minutes: number;
  /** The address of a PostgreSQL database; a SQLite file by default. */
  state?: string;
  clients?: number;
  seed?: number;
  log?: (line: string) => void;
}

/** What a soak showed. */
export interface Soaked {
  told: Told;
  kills: number;
  /** What the upstream did. */
  calls: Record<string, number>;
  /** Requests and memory at moments of the run. */
  samples: (Memory & { requests: number })[];
  /** Growth in the last half, in MB for every 10,000 requests. */
  slope: { live: number; rss: number };
  /** Requests under way at the end, when every client has left. */
  underWay: number;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs one. */
export async function soak(options: SoakOptions): Promise<Soaked> {
  const { minutes, clients = 64, seed = 1, log = () => {} } = options;
  const folder = await mkdtemp(join(tmpdir(), "coa-soak-"));
  const upstream = await flakyUpstream(seededRandom("upstream", seed));
  const servers = await startServers(folder, options.state ?? join(folder, "state"), upstream.url);
  const told: Told = { requests: 0, answered: 0, refused: 0, left: 0, cut: 0, hung: [], lost: [], stored: new Map() };
  const samples: Soaked["samples"] = [];
  let kills = 0;
  try {
    const begun = performance.now();
    const going = () => performance.now() - begun < minutes * 60_000;
    const everyMs = Math.min(30_000, (minutes * 60_000) / 40);
    const random = seededRandom("kills", seed);
    const work = Array.from({ length: clients }, async (_, who) => {
      const client = soakClient(servers.origins, seededRandom("client", seed, who), who, told);
      while (going()) await client.once();
    });
    const killing = (async () => {
      while (going()) {
        await pause(Math.min(5_000 + random.below(20_000), minutes * 15_000));
        if (!going()) break;
        await servers.kill();
        kills++;
      }
    })();
    const measuring = (async () => {
      while (going()) {
        await pause(everyMs);
        const sample = { requests: told.requests, ...(await servers.memory()) };
        samples.push(sample);
        log(`${told.requests} requests, ${sample.liveMb.toFixed(1)} MB live, ${sample.rssMb.toFixed(0)} MB resident`);
      }
    })();
    await Promise.all([...work, killing, measuring]);
    const underWay = await settled(servers.origins[0]);
    await checkStored(servers.origins, told);
    const half = samples.slice(Math.floor(samples.length / 2));
    const slope = { live: slopeOf(half, "liveMb"), rss: slopeOf(half, "rssMb") };
    return { told, kills, calls: upstream.calls, samples, slope, underWay };
  } finally {
    await servers.stop();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Chains under way and waiting when a minute has passed, or none. */
async function settled(origin: string): Promise<number> {
  for (let round = 0; ; round++) {
    const page = await (await fetch(`${origin}/metrics`)).text();
    const counts = [...page.matchAll(/^coa_chains_(?:running|waiting) (\d+)$/gm)].map(([, count]) => Number(count));
    const sum = counts.reduce((one, two) => one + two, 0);
    if (sum === 0 || round === 120) return sum;
    await pause(500);
  }
}

/** Every response that a client was told of is read once more; those in the background have a minute to end. */
async function checkStored(origins: readonly string[], told: Told): Promise<void> {
  const { look } = soakClient(origins, seededRandom("check"), -1, told);
  const open = () => [...told.stored].filter(([, text]) => text === undefined).map(([id]) => id);
  for (let round = 0; round < 60 && open().length > 0; round++) {
    for (const id of open()) await look(id);
    await pause(1000);
  }
  for (const id of open()) told.lost.push(`${id} never ended`);
  for (const id of told.stored.keys()) await look(id);
}

/** The slope of the line through the samples, by least squares. */
function slopeOf(samples: Soaked["samples"], name: keyof Memory): number {
  const mean = (values: number[]) => values.reduce((one, two) => one + two, 0) / values.length;
  const x = samples.map(({ requests }) => requests / 10_000);
  const y = samples.map((sample) => sample[name]);
  const [mx, my] = [mean(x), mean(y)];
  const covered = x.reduce((sum, one, at) => sum + (one - mx) * (y[at]! - my), 0);
  return covered / x.reduce((sum, one) => sum + (one - mx) ** 2, 0);
}
