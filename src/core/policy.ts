/** A policy is a model under training: what writes rollouts now, and which version of it that is. */
import type { Model } from "./model.ts";

export interface Policy {
  readonly model: Model;
  /** Counted by the engine: it grows when new weights reach the sampler, not when the loop thinks so. */
  version(): number;
}
