/**
 * `POST /api/annotate` writes one decision. It is about the chain as it was shown: one that has other words by now is
 * refused. An edit is put into the chain and checked against its profile first, and refused with what is wrong and where.
 */

import { statSync } from "node:fs";
import { appendLine } from "../../base/files/open-jsonl.ts";
import type { Route } from "../../base/http/guard.ts";
import { replyJson } from "../../base/http/handler.ts";
import { parse, Refusal } from "../../base/http/refusal.ts";
import { inOrder } from "../../base/work/in-order.ts";
import {
  type Annotation,
  type AnnotationTarget,
  annotationSchema,
  chainHash,
  type Feedback,
} from "../../core/annotation.ts";
import type { Trajectory, Violation } from "../../core/trajectory.ts";
import { type ChainVerdicts, readAnnotations } from "../../dataset/read-annotations.ts";
import { editChain } from "../../language/edit-chain.ts";
import { askedItem, type StudioContext } from "./reader.ts";

/** The annotations in a file, which need not be there yet. */
export function annotationStore(file: string) {
  let known: { size: number; mtime: number; verdicts: Promise<ChainVerdicts> } | undefined;
  let problems: string[] = [];
  let said = new Map<string, Feedback[]>();
  const inTurn = inOrder();
  return {
    file,
    /** The decisions that count now, by chain. */
    verdicts() {
      const { size = 0, mtimeMs: mtime = 0 } = statSync(file, { throwIfNoEntry: false }) ?? {};
      if (known?.size !== size || known.mtime !== mtime) {
        problems = [];
        said = new Map();
        const heard = ({ target: { id }, feedback }: Annotation) =>
          feedback && said.set(id, [...(said.get(id) ?? []), feedback]);
        const bad = ({ line, message }: { line: number; message: string }) => problems.push(`line ${line}: ${message}`);
        known = { size, mtime, verdicts: readAnnotations(file, bad, heard) };
      }
      return known.verdicts;
    },
    /** What users of a served model said about a chain, oldest first; as of the last `verdicts`. */
    said: (id: string): readonly Feedback[] => said.get(id) ?? [],
    /** Lines of the file that can't be read, in words. */
    problems: () => problems,
    /** Resolves when the annotation is in the file. */
    append: (annotation: Annotation) => inTurn(() => appendLine(file, annotation)),
  };
}

export type AnnotationStore = ReturnType<typeof annotationStore>;

/** Why an annotation was not written. */
export interface AnnotationRefusal {
  error: { message: string; problems: Violation[] };
}

export function annotationRoutes(context: StudioContext): Readonly<Record<string, Route>> {
  return {
    "POST /api/annotate": async ({ reply, json }) => {
      const { in: file, ...given } = await json();
      const annotation = parse(annotationSchema, { ...given, version: 1, at: new Date().toISOString() });
      const chain = shownChain(annotation.target, context, typeof file === "string" ? file : undefined);
      const problems =
        annotation.verdict === "edit" ? (editChain(chain, annotation.edits, context.profiles).problems ?? []) : [];
      if (problems.length > 0) {
        const message = problems.map((problem) => `segment ${problem.segment}: ${problem.message}`).join("; ");
        return replyJson(reply, 422, { error: { message, problems } } satisfies AnnotationRefusal);
      }
      await context.annotations.append(annotation);
      return { annotation };
    },
  };
}

/** The chain that a person looked at; refused where it is gone or has other words. */
function shownChain({ id, hash }: AnnotationTarget, context: StudioContext, file?: string): Trajectory {
  const query = new URLSearchParams({ id, ...(file !== undefined && { in: file }) });
  const { stored } = askedItem(query, context, "chain");
  if (stored.kind !== "chain") throw new Refusal(400, `${id} is not a chain`);
  if (chainHash(stored.chain) !== hash)
    throw new Refusal(409, `${id} has changed since it was shown: load the page again`);
  return stored.chain;
}
