/**
 * RL compares a token's log-probability now with the one it was sampled with. The comparison means something only when
 * both are of the same distribution, so sampling that the loss can't reproduce is refused where it is asked for: top-p,
 * top-k and grammar masks, which cut the distribution, and a temperature other than the run's.
 */
import type { Policy, SampleRequest } from "../core/engine.ts";
import { UsageError } from "../core/errors.ts";

/** The policy, refusing requests whose log-probabilities a loss at `temperature` would not reproduce. */
export function exactPolicy(policy: Policy, temperature: number): Policy {
  const exact = (request: SampleRequest): SampleRequest => {
    const { topP = 1, topK = 0, allowedTokens } = request;
    const asked = request.temperature ?? 1;
    if (asked !== temperature)
      refuse(`temperature ${asked}, but the run trains at temperature ${temperature}: pass the same to both`);
    if (topP < 1) refuse(`top-p ${topP}: set it to 1`);
    if (topK > 0) refuse(`top-k ${topK}: set it to 0`);
    if (!allowedTokens) return request;
    return {
      ...request,
      allowedTokens(sampled) {
        const allowed = allowedTokens(sampled);
        // A single id is a forced end of turn, which is not trained on.
        if (allowed && allowed.length !== 1) refuse("a token mask: leave the answer's schema out");
        return allowed;
      },
    };
  };
  return {
    ...policy,
    exact: true,
    sample: (request) => policy.sample(exact(request)),
    sampleMany: (request, n) => policy.sampleMany(exact(request), n),
  };
}

function refuse(what: string): never {
  throw new UsageError(`RL can't train on samples drawn with ${what}`);
}
