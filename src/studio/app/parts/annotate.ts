/** Decisions about chains on their way to the server. */
import { useState } from "preact/hooks";
import type { Annotation } from "../../../core/annotation.ts";
import type { Violation } from "../../../core/trajectory.ts";
import type { ReviewedChain } from "../../api/review-reader.ts";
import { place } from "../router.ts";
import { post, ServerError } from "../server.ts";

/** The fields of an annotation besides its target, for each verdict. */
export type Decision = Annotation extends infer One
  ? One extends Annotation
    ? Omit<One, "version" | "target" | "at">
    : never
  : never;

export interface Annotating {
  /** Rises with every decision that was written. */
  version: number;
  /** Why the last one was not written. */
  refusal?: { message: string; problems: readonly Violation[] };
  clear(): void;
  /** Writes a decision; resolves to whether it is written and its screen is still shown. */
  decide(shown: ReviewedChain, decision: Decision): Promise<boolean>;
}

/** Writes decisions and keeps what the server refused. */
export function useAnnotating(): Annotating {
  const [version, setVersion] = useState(0);
  const [refusal, setRefusal] = useState<Annotating["refusal"]>();
  return {
    version,
    refusal,
    clear: () => setRefusal(undefined),
    async decide(shown, decision) {
      const { path } = place.value;
      try {
        const target: Annotation["target"] = { kind: "chain", id: shown.key, hash: shown.hash };
        await post("annotate", { ...decision, target, in: shown.file });
        setRefusal(undefined);
        setVersion((old) => old + 1);
        return place.value.path === path;
      } catch (error) {
        const problems = error instanceof ServerError ? error.problems : [];
        setRefusal({ message: (error as Error).message, problems });
        return false;
      }
    },
  };
}
