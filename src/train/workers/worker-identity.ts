/**
 * Who may run rollouts of a run: a worker of the same release, with the same profile, tools and tokenizer. Chains of
 * any other would be other chains than those the run describes, so it is refused, with what differs named.
 */

import { z } from "zod";
import { packageVersion } from "../../base/files/package-version.ts";
import { fingerprint, tokenizerDifference, tokenizerFingerprint } from "../../core/fingerprint.ts";
import type { Profile } from "../../core/profile.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import type { Tool } from "../../core/tool.ts";
import { describeTools } from "../../language/with-tools.ts";

export const workerIdentitySchema = z.object({
  version: z.string(),
  profile: z.object({ name: z.string(), fingerprint: z.string() }),
  /** Fingerprint of what the model is told of each tool, by name. */
  tools: z.record(z.string(), z.string()),
  tokenizer: z.object({ size: z.number(), fingerprint: z.string() }),
});
/** What a worker and a run must have in common. */
export type WorkerIdentity = z.infer<typeof workerIdentitySchema>;

/** The identity of this process, with what it runs chains with. */
export function workerIdentity(parts: {
  profile: Profile;
  tools: readonly Tool[];
  tokenizer: Tokenizer;
}): WorkerIdentity {
  const { profile, tools, tokenizer } = parts;
  return {
    version: packageVersion(),
    profile: { name: profile.name, fingerprint: fingerprint(JSON.stringify(profile)) },
    tools: Object.fromEntries(describeTools(tools).map((tool) => [tool.name, fingerprint(JSON.stringify(tool))])),
    tokenizer: tokenizerFingerprint(tokenizer),
  };
}

/** What differs between a worker and the run, in words; nothing where they agree. */
export function differences(worker: WorkerIdentity, run: WorkerIdentity): string[] {
  const found: string[] = [];
  if (worker.version !== run.version)
    found.push(`its package is version ${worker.version}, the run has ${run.version}`);
  if (worker.profile.name !== run.profile.name)
    found.push(`its profile is ${worker.profile.name}, the run has ${run.profile.name}`);
  else if (worker.profile.fingerprint !== run.profile.fingerprint)
    found.push(`its profile ${run.profile.name} has other tags or rules than the run's`);
  for (const name of Object.keys(run.tools)) {
    if (worker.tools[name] === undefined) found.push(`it lacks the tool ${name}`);
    else if (worker.tools[name] !== run.tools[name])
      found.push(`its tool ${name} has another description or other inputs than the run's`);
  }
  for (const name of Object.keys(worker.tools))
    if (run.tools[name] === undefined) found.push(`it has the tool ${name}, which the run has not`);
  const tokenizers = tokenizerDifference(worker.tokenizer, run.tokenizer, { own: "its", other: "the run's" });
  if (tokenizers) found.push(tokenizers);
  return found;
}
