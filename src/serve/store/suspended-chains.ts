/**
 * Chains that wait for a client to run one of its own tools, found again by the ids of their calls or opened from the state
 * that the client sent back; and chains that have answered, whose results later turns of the conversation read. A chain is on disk before its client gets the call, so that it survives
 * `kill -9`; where the caller wants nothing stored it is kept in memory for a while, and no longer than the process.
 */
import type { ToolDescription } from "../../core/profile.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { trajectorySchema } from "../../core/trajectory-schema.ts";
import type { Conversation } from "../continued-chain.ts";
import type { Seal } from "../sealed-state.ts";
import { type Database, jsonOf, type Row } from "./database.ts";

export interface SuspendedChain {
  owner: string;
  trajectory: Trajectory;
  clientTools: readonly ToolDescription[];
  /** Under which the model keeps its cache. */
  session: string;
  conversation?: Conversation;
  /** Names its turn, where it has answered. */
  turn?: string;
  /** It has answered and is kept for the next dataset. */
  kept?: boolean;
}

export type SuspendedChains = ReturnType<typeof suspendedChains>;

const rememberedMs = 3_600_000;
const mostRemembered = 1000;

export function suspendedChains(database: Database, seal: Seal) {
  const remembered = new Map<string, { chain: SuspendedChain; until: number }>();
  const inMemory = (id: string, owner: string): SuspendedChain | undefined => {
    const known = remembered.get(id);
    return known && known.until >= database.now() && known.chain.owner === owner ? known.chain : undefined;
  };
  return {
    seal,
    async save(chain: SuspendedChain, where: "disk" | "memory"): Promise<void> {
      const { turn = null, trajectory: { id } } = chain; // biome-ignore format: two names
      const now = database.now();
      if (where === "disk") {
        const upsert = `INSERT INTO coa_chains (id, owner, at, turn, chain) VALUES ($1, $2, $3, $4, $5)
          ON CONFLICT (id) DO UPDATE SET at = excluded.at, turn = excluded.turn, chain = excluded.chain`;
        await database.run([upsert, [id, chain.owner, now, turn, JSON.stringify(chain)]]);
        return;
      }
      for (const [key, { until }] of remembered) {
        if (until >= now && remembered.size < mostRemembered) break;
        remembered.delete(key);
      }
      for (const name of turn ? [id, turn] : [id]) remembered.set(name, { chain, until: now + rememberedMs });
    },
    /** By the id of its trajectory, or the name of its turn. */
    async find(id: string, owner: string): Promise<SuspendedChain | undefined> {
      const known = inMemory(id, owner);
      if (known) return known;
      const [[row]] = (await database.run([
        "SELECT chain FROM coa_chains WHERE (id = $1 OR turn = $1) AND owner = $2 ORDER BY at DESC LIMIT 1",
        [id, owner],
      ])) as [Row[]];
      return row && readSuspended(jsonOf(row, "chain"));
    },
    /** False where there is none. */
    async delete(id: string, owner: string): Promise<boolean> {
      const known = inMemory(id, owner);
      if (known?.turn) remembered.delete(known.turn);
      if (known) return remembered.delete(id);
      // An answer that is kept for an idempotency key goes with its chain; the key begins with its owner.
      const replies =
        "DELETE FROM coa_replies WHERE chain = $1 AND substr(id, 1, CAST($3 AS INTEGER)) = $2 RETURNING id";
      const [gone, answers] = await database.run(
        ["DELETE FROM coa_chains WHERE id = $1 AND owner = $2 RETURNING id", [id, owner]],
        [replies, [id, owner, owner.length]],
      );
      if (gone!.length + answers!.length > 0) await database.tidy();
      return gone!.length > 0;
    },
  };
}

export function readSuspended(value: unknown): SuspendedChain {
  const chain = value as SuspendedChain;
  return { ...chain, trajectory: trajectorySchema.parse(chain.trajectory) };
}
