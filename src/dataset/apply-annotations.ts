/** Annotations on their way into a dataset: a dropped chain is left out, an edited one is learned with its new words. */
import { chainHash } from "../core/annotation.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { editChain, type NamedProfiles } from "../language/edit-chain.ts";
import type { ChainVerdict, ChainVerdicts } from "./read-annotations.ts";

/** What annotations did to the chains of a dataset. */
export interface AnnotationReport {
  kept: number;
  dropped: number;
  edited: number;
  /** Edits that the chain's profile forbids: the chain is left out. */
  invalid: number;
  /** Annotations whose chain did not come. */
  unmatched: number;
  /** Of those, annotations of a chain that came, but with other words than were looked at. */
  changed: number;
}

/** A chain as it is to be learned, or why it is not. */
export type AnnotatedChain = { chain: Trajectory; dropped?: undefined } | { chain?: undefined; dropped: string };

/** Applies verdicts to chains that come one after the other. */
export function annotationApplier(
  verdicts: ChainVerdicts,
  profiles?: NamedProfiles,
): {
  apply(chain: Trajectory): AnnotatedChain;
  report(): AnnotationReport;
} {
  const used = new Set<ChainVerdict>();
  const seen = new Set<string>();
  const counts = { kept: 0, dropped: 0, edited: 0, invalid: 0 };
  return {
    apply(chain) {
      // Half a character in an id is the sign for it in every annotation.
      const id = chain.id.toWellFormed();
      const ofChain = verdicts.get(id);
      if (!ofChain) return { chain };
      seen.add(id);
      const found = ofChain.get(chainHash(chain));
      if (!found) return { chain };
      used.add(found);
      if (found.verdict === "drop") {
        counts.dropped++;
        return { dropped: "dropped in review" };
      }
      if (found.verdict === "keep") {
        counts.kept++;
        return { chain };
      }
      const edited = editChain(chain, found.edits ?? [], profiles);
      if (!edited.chain) {
        counts.invalid++;
        return { dropped: `its edit is not valid: ${edited.problems[0]?.message ?? "no segment"}` };
      }
      counts.edited++;
      return { chain: edited.chain };
    },
    report() {
      const all = [...verdicts].flatMap(([id, ofChain]) => [...ofChain.values()].map((verdict) => ({ id, verdict })));
      const unmatched = all.filter(({ verdict }) => !used.has(verdict));
      return { ...counts, unmatched: unmatched.length, changed: unmatched.filter(({ id }) => seen.has(id)).length };
    },
  };
}
