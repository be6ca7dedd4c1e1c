/**
 * Served chains, kept for the next dataset: appended to a file with secrets removed. The key that asked for a chain may
 * have it deleted by its id; then its line is gone from the file, not only marked.
 */
import { openJsonl } from "../base/files/open-jsonl.ts";
import { readJsonl } from "../base/files/read-jsonl.ts";
import { writeFileAtomically } from "../base/files/write-file.ts";
import { redactSecrets } from "../base/redact/redact.ts";
import { inOrder } from "../base/work/in-order.ts";
import type { Trajectory } from "../core/trajectory.ts";

/** A file of kept chains. */
export interface KeptChains {
  append(trajectory: Trajectory): Promise<void>;
  /** Removes the chain of this id where it belongs to this owner; false where there is none. */
  delete(id: string, owner: string): Promise<boolean>;
  close(): Promise<void>;
}

/** Whose chain it is; anyone may delete a chain of a server without keys. */
const isOf = (line: Trajectory, id: string, owner: string) => line.id === id && (line.owner ?? "anyone") === owner;

/** Opens a file for keeping chains. */
export async function openKeptChains(file: string): Promise<KeptChains> {
  let writer = await openJsonl<Trajectory>(file);
  const inTurn = inOrder(); // the file is never rewritten while it is written
  return {
    append: (trajectory) => inTurn(() => writer.append(redactSecrets(trajectory) as Trajectory)),
    delete: (id, owner) =>
      inTurn(async () => {
        let found = false;
        for await (const line of readJsonl<Trajectory>(file)) found ||= isOf(line, id, owner);
        if (!found) return false;
        await writer.close();
        try {
          await writeFileAtomically(file, without(file, id, owner));
        } finally {
          writer = await openJsonl<Trajectory>(file);
        }
        return true;
      }),
    close: () => inTurn(() => writer.close()),
  };
}

async function* without(file: string, id: string, owner: string): AsyncGenerator<string> {
  for await (const line of readJsonl<Trajectory>(file)) {
    if (!isOf(line, id, owner)) yield `${JSON.stringify(line)}\n`;
  }
}
