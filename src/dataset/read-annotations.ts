/** The file of annotations as it holds now: for each chain what was decided last. */
import { type BadLine, readJsonl } from "../base/files/read-jsonl.ts";
import {
  type Annotation,
  type AnnotationTarget,
  annotationSchema,
  type Feedback,
  type SegmentEdit,
} from "../core/annotation.ts";

/** What holds for one chain. */
export interface ChainVerdict {
  verdict: "keep" | "drop" | "edit";
  hash: string;
  /** @internal */
  edits?: readonly SegmentEdit[];
  /** What users said; the newest that says something counts. @internal */
  feedback?: Feedback;
}

/** What holds, by the chain's id and then by its hash. */
export type ChainVerdicts = ReadonlyMap<string, ReadonlyMap<string, ChainVerdict>>;

/** Reads a file of annotations; `onRead` gets each. A line that can't be read stops it, unless `onBad` is told instead. */
export async function readAnnotations(
  file: string,
  onBad?: (line: BadLine) => void,
  onRead?: (annotation: Annotation) => void,
): Promise<ChainVerdicts> {
  const verdicts = new Map<string, Map<string, ChainVerdict>>();
  for await (const annotation of readJsonl(file, annotationSchema, { onBad: onBad ?? "throw" })) {
    onRead?.(annotation);
    addAnnotation(verdicts, annotation);
  }
  return verdicts;
}

/** What holds once one more annotation is there. */
function addAnnotation(verdicts: Map<string, Map<string, ChainVerdict>>, annotation: Annotation): void {
  const set = ({ id, hash }: AnnotationTarget, verdict?: Omit<ChainVerdict, "hash">) => {
    const ofChain = verdicts.get(id) ?? new Map<string, ChainVerdict>();
    if (verdict) verdicts.set(id, ofChain.set(hash, { ...verdict, hash }));
    else if (ofChain.delete(hash) && ofChain.size === 0) verdicts.delete(id);
  };
  const { target, verdict } = annotation;
  const known = verdicts.get(target.id)?.get(target.hash);
  const feedback = annotation.feedback ? { ...known?.feedback, ...annotation.feedback } : known?.feedback;
  const more = feedback && { feedback };
  if (verdict === "undo") set(target);
  else if (verdict === "note") known && set(target, { ...known, ...more });
  else if (verdict === "edit") set(target, { verdict, edits: annotation.edits, ...more });
  else set(target, { verdict, ...more });
}
