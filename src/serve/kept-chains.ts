/**
 * Served chains, kept for the next dataset: appended to a file with secrets removed, and what users say about them to another.
 * The key that asked for a chain may have it deleted by its id; then its lines are gone from both files, not only marked.
 */
import { appendLine, openJsonl } from "../base/files/open-jsonl.ts";
import { readJsonl } from "../base/files/read-jsonl.ts";
import { writeFileAtomically } from "../base/files/write-file.ts";
import { redactSecrets } from "../base/redact/redact.ts";
import { inOrder } from "../base/work/in-order.ts";
import type { Annotation } from "../core/annotation.ts";
import type { Trajectory } from "../core/trajectory.ts";

/** Whose chain it is; anyone may delete a chain of a server without keys. */
const isOf = (line: Trajectory, id: string, owner: string) => line.id === id && (line.owner ?? "anyone") === owner;

/** Opens a file for keeping chains; annotations stand beside it, or where the studio finds them. */
export async function openKeptChains(file: string, annotations = `${file}.annotations.jsonl`) {
  let writer = await openJsonl<Trajectory>(file);
  const inTurn = inOrder(); // no file is rewritten while it is written
  return {
    append: ({ id, owner, ...rest }: Trajectory): Promise<void> =>
      // Whose chain it is looks like a secret and is none.
      inTurn(() =>
        writer.append({ id, ...(redactSecrets(rest) as typeof rest), ...(owner !== undefined && { owner }) }),
      ),
    /** Keeps what was decided about a chain. */
    annotate: (annotation: Annotation): Promise<void> => inTurn(() => appendLine(annotations, annotation)),
    /** Removes the chain of this id where it belongs to this owner; false where there is none. */
    delete: (id: string, owner: string): Promise<boolean> =>
      inTurn(async () => {
        const isKept = (line: Trajectory) => isOf(line, id, owner);
        if (!(await holds(file, isKept))) return false;
        try {
          await rewrite(file, isKept);
        } finally {
          await writer.close(); // the lock was held until now
          writer = await openJsonl<Trajectory>(file);
        }
        const isAbout = ({ target }: Annotation) => target?.id === id;
        if (await holds(annotations, isAbout)) {
          const others = await openJsonl(annotations);
          await rewrite(annotations, isAbout).finally(others.close);
        }
        return true;
      }),
    close: (): Promise<void> => inTurn(() => writer.close()),
  };
}

async function holds<T>(file: string, is: (line: T) => boolean): Promise<boolean> {
  for await (const line of readJsonl<T>(file)) if (is(line)) return true;
  return false;
}

/** Writes a file again without some of its lines. */
async function rewrite<T>(file: string, without: (line: T) => boolean): Promise<void> {
  async function* left(): AsyncGenerator<string> {
    for await (const line of readJsonl<T>(file)) if (!without(line)) yield `${JSON.stringify(line)}\n`;
  }
  await writeFileAtomically(file, left());
}
