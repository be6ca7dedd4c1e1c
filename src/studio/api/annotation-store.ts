/** The annotations of a workspace: one file that is only appended to, and the decisions that count. */
import { statSync } from "node:fs";
import { appendLine } from "../../base/files/open-jsonl.ts";
import { inOrder } from "../../base/work/in-order.ts";
import type { Annotation } from "../../core/annotation.ts";
import { type ChainVerdicts, readAnnotations } from "../../dataset/read-annotations.ts";

/** The annotations in a file, which need not be there yet. */
export function annotationStore(file: string) {
  let known: { size: number; mtime: number; verdicts: Promise<ChainVerdicts> } | undefined;
  let problems: string[] = [];
  const inTurn = inOrder();
  return {
    file,
    /** The decisions that count now, by chain. */
    verdicts() {
      const { size = 0, mtimeMs: mtime = 0 } = statSync(file, { throwIfNoEntry: false }) ?? {};
      if (known?.size !== size || known.mtime !== mtime) {
        problems = [];
        const bad = ({ line, message }: { line: number; message: string }) => problems.push(`line ${line}: ${message}`);
        known = { size, mtime, verdicts: readAnnotations(file, bad) };
      }
      return known.verdicts;
    },
    /** Lines of the file that can't be read, in words. */
    problems: () => problems,
    /** Resolves when the annotation is in the file. */
    append: (annotation: Annotation) => inTurn(() => appendLine(file, annotation)),
  };
}

export type AnnotationStore = ReturnType<typeof annotationStore>;
