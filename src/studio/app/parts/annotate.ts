/** Decisions about chains on their way to the server. */
import { useState } from "preact/hooks";
import type { Annotation, SegmentEdit } from "../../../core/annotation.ts";
import type { Violation } from "../../../core/trajectory.ts";
import type { ReviewedChain } from "../../api/review-reader.ts";
import { place } from "../router.ts";
import { post } from "../server.ts";

type Decision = { verdict: "keep" | "drop" | "undo" } | { verdict: "edit"; edits: readonly SegmentEdit[] };

/** Writes decisions, counts those that are written, and keeps why the last one was refused. */
export function useAnnotating() {
  const [version, setVersion] = useState(0);
  const [refusal, setRefusal] = useState<{ message: string; problems: readonly Violation[] }>();
  /** Resolves to whether it is written and its screen is still shown. */
  const decide = async ({ key, hash, file }: ReviewedChain, decision: Decision): Promise<boolean> => {
    const { path } = place.value;
    try {
      const target: Annotation["target"] = { kind: "chain", id: key, hash };
      await post("annotate", { ...decision, target, in: file });
      setRefusal(undefined);
      setVersion((old) => old + 1);
      return place.value.path === path;
    } catch (error) {
      const { message, cause = [] } = error as Error & { cause?: readonly Violation[] };
      setRefusal({ message, problems: cause });
      return false;
    }
  };
  return { version, refusal, clear: () => setRefusal(undefined), decide };
}
