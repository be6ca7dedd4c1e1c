/** The team's long-term memory, kept in a file from one batch to the next. */
import { openJsonl } from "../../base/files/open-jsonl.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { createLongTermMemory, type LongTermMemory, type PastStep } from "../../team/working-memory.ts";

/** A long-term memory that lives in a file: what is there is recalled, what is new is appended. */
export async function openMemory(file: string): Promise<{ memory: LongTermMemory; close(): Promise<void> }> {
  const known = createLongTermMemory(await readAllJsonl<PastStep>(file));
  const writer = await openJsonl<PastStep>(file);
  const written: Promise<void>[] = [];
  const memory: LongTermMemory = {
    get size() {
      return known.size;
    },
    recall: known.recall,
    remember(step) {
      known.remember(step);
      written.push(writer.append(step));
    },
  };
  return {
    memory,
    async close() {
      await Promise.all(written);
      await writer.close();
    },
  };
}
