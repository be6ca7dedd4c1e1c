/**
 * `POST /v1/feedback`: what users say about an answer, as annotations of the chain that was kept. A correction puts the right
 * answer into the chain, a score keeps or drops it, words alone decide nothing. Where another system gave the answer, the
 * score is about that answer: one that is right corrects the chain.
 */
import { z } from "zod";
import { parse, Refusal } from "../base/http/refusal.ts";
import { redactSecrets } from "../base/redact/redact.ts";
import { type Annotation, chainHash, type Feedback, feedbackSchema } from "../core/annotation.ts";
import type { Profile } from "../core/profile.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { editChain } from "../language/edit-chain.ts";
import type { Endpoint } from "./keys.ts";
import type { SuspendedChains } from "./store/suspended-chains.ts";

/** Keeps an annotation; resolves when it is on disk. */
export type Annotate = (annotation: Annotation) => Promise<void>;

export const feedbackFields = feedbackSchema.extend({ id: z.string().min(1).max(200) });

/** Takes what a caller says about an answer that its key was given. `id`: of the reply, of any API, or of the chain. */
export function feedbackEndpoint(chains: SuspendedChains, profile: Profile, annotate: Annotate | undefined): Endpoint {
  return async ({ json, caller }) => {
    const { id, ...feedback } = parse(feedbackFields, await json());
    if (Object.keys(feedback).length === 0)
      throw new Refusal(400, "give a score, a label, a correction or a comment", { param: "score" });
    const name = chainOf(id);
    const found = annotate && (await chains.find(name, caller.owner));
    if (!annotate || !found?.kept) {
      const why = annotate ? `there is no kept chain ${name}` : "this server keeps no chains: it runs without --keep";
      throw new Refusal(404, why, { code: "chain_not_found", param: "id" });
    }
    const chain = redactSecrets(found.trajectory) as Trajectory; // as it is in the file
    const said = redactSecrets(feedback) as Feedback;
    const target = { kind: "chain" as const, id: name, hash: chainHash(chain) };
    const decided = decisionOf(chain, said, profile);
    await annotate({ version: 1, target, at: new Date().toISOString(), feedback: said, ...decided });
    return { id, object: "feedback", chain: name, verdict: decided.verdict };
  };
}

/** Replies are named after their chains. */
const chainOf = (id: string) => id.replace(/^(?:chatcmpl-|resp_|msg_|req_)/, "chain_");

type Decision = { verdict: "keep" | "drop" | "note" } | { verdict: "edit"; edits: { segment: number; text: string }[] };

function decisionOf(chain: Trajectory, { score, correction }: Feedback, profile: Profile): Decision {
  const { shadow, fallback } = chain.served ?? {};
  const shown = shadow?.answer ?? fallback?.answer ?? chain.answer;
  const own = shown === chain.answer;
  const right = correction ?? (score !== undefined && score >= 0.5 ? shown : undefined);
  if (right === undefined || right === null) return { verdict: score === undefined || !own ? "note" : "drop" };
  if (right === chain.answer) return { verdict: "keep" };
  const segment = chain.segments.findLastIndex(({ tag, by }) => by === "model" && tag === profile.answer);
  if (segment === -1) return { verdict: "drop" }; // nothing stands where the answer belongs; the task still learns of it
  const edits = [{ segment, text: right }];
  const problem = editChain(chain, edits, { [profile.name]: profile }).problems?.[0];
  if (problem) throw new Refusal(400, `this can't be an answer: ${problem.message}`, { param: "correction" });
  return { verdict: "edit", edits };
}
