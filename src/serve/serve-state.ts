/** What a server keeps between restarts, in one folder: stored responses, chains that wait for clients, and the key of sealed state. */

import { join } from "node:path";
import { openSeal, sealKeys } from "./sealed-state.ts";
import { openResponseStore, type ResponseStore } from "./stored-responses.ts";
import { openSuspendedChains, type SuspendedChains } from "./suspended-chains.ts";

export interface ServeStateOptions {
  /** Servers that share this file open each other's sealed state; `seal.key` in the folder by default. */
  sealKeyFile?: string;
}

/** Opens the folder; close the store at the end. */
export async function openServeState(
  folder: string,
  options: ServeStateOptions = {},
): Promise<{ store: ResponseStore; suspended: SuspendedChains }> {
  const { sealKeyFile = join(folder, "seal.key") } = options;
  const seal = openSeal({ keys: await sealKeys(sealKeyFile) });
  const suspended = await openSuspendedChains({ folder: join(folder, "suspended"), seal });
  return { suspended, store: await openResponseStore(folder) };
}
